"""`python -m models`: the playground's engine without its pages. `python -m models --help` says how."""

import sys

from models.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
