"""python -m predyn"""

from predyn.cli import main

if __name__ == "__main__":
    main()
