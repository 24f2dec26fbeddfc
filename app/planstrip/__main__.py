"""`python -m planstrip` is `planstrip`."""

from planstrip.cli import main

main()
