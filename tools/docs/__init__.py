"""Writes the pages of the documentation that come from the code."""
