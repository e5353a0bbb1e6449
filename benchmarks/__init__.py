"""Measures how fast metacross is; `make bench` runs it all."""
