"""`planstrip connect AGENT`: our entry in an agent's own configuration, and nothing else of it changed."""
