"""Measures the speed and the memory of metacross; `make bench` runs everything."""
