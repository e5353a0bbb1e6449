"""Leaves out what needs the packages of ``make docs``, where they are not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("griffe") else ["doctest_blocks.py"]
