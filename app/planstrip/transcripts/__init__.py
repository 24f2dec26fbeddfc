"""Readers of the agents' own files: detect whose it is, parse its lines, adapt them to our events."""
