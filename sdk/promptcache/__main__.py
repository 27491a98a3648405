"""``python -m promptcache``: the same as the ``promptcache`` command."""

import sys

from promptcache.cli.door import main

if __name__ == "__main__":
    sys.exit(main())
