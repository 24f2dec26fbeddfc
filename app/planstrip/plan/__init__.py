"""Pure functions of events: what stands, and how it is told (no clock, no SQL)."""
