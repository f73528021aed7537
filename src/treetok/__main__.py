"""`python -m treetok` is the command line."""

import sys

from treetok.cli import main

sys.exit(main())
