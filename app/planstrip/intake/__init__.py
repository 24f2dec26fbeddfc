"""The ways in: every event passes `record`, whoever sends it."""
