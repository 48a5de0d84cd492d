"""``python -m sconce``: the command."""

import sys

from sconce._cli import main

sys.exit(main())
