"""`planstrip`, also as `python -m planstrip`: the commands that agents wait for go past the rest of the program."""

import sys


def main() -> None:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from planstrip.hooks.send import main as run  # the standard library alone: it has 300 ms
    elif sys.argv[1:2] == ["status"] and not {"-h", "--help"} & set(sys.argv):
        from planstrip.status import main as run  # a status bar asks every second
    else:
        from planstrip.cli import main as run
    run()


if __name__ == "__main__":
    main()
