"""`python -m predyn`, and the command `predyn`: what runs before the command line is loaded."""

import sys


def main() -> None:
    """Ctrl-C ends the program by its exit code also while modules are loaded."""
    try:
        from predyn.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
