"""Scripts beside the package (`tools/`, `experiments/`): faults of their input are one line, not a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from treetok.errors import TreetokError


def run(main: Callable[[], None]) -> None:
    try:
        main()
    except (TreetokError, OSError) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
