"""Annotates any amount of text, in parts, on several processes or machines."""
