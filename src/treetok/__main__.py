"""`python -m treetok` runs the command line."""

import sys

from treetok.cli import main

sys.exit(main())
