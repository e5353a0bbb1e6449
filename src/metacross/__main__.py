"""``python -m metacross``."""

from metacross.cli.main import main

main()
