"""planstrip: the live plan panel for coding agents."""

__version__ = "0.1.0"
