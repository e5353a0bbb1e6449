"""``python -m metacross``."""

from metacross.apps.cli import main

main()
