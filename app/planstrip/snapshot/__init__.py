"""`planstrip snapshot`: a session as a stable text record, to be kept in a repository and compared."""
