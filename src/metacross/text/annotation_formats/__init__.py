"""The formats of annotation tools: one module for each, and what they share."""
