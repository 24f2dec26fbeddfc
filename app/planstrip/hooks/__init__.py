"""What runs inside an agent's own process tree: its hook, the spool behind it, and the files that an agent loads."""
