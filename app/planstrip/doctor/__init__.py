"""`planstrip doctor`: what keeps the panel from working, measured, and what to change."""
