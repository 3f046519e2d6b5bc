"""`python -m models`: the playground without its pages; see `python -m models --help`."""

import sys

from models.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
