"""``python -m sconce``: the command."""

import sys

from sconce._cli import main

if __name__ == "__main__":
    sys.exit(main())
