"""``python -m promptcache_gateway.tenancy``: the command ``promptcache keys`` without the front door."""

import sys

from promptcache_gateway.tenancy.cli import main

sys.exit(main())
