"""`python -m arenite`."""

from arenite.cli.main import main

if __name__ == "__main__":
    main()
