"""Runs ``python -m tools.mini_encoder``."""

from tools.mini_encoder.commands import main

main()
