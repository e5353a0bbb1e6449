"""Builds the wheel and the sdist and tests them outside the repository."""
