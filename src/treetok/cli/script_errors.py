"""Entry point for scripts outside the package (`experiments/`): input errors are one line, not a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from treetok.control_characters import escape_controls
from treetok.errors import TreetokError


def run(main: Callable[[], None]) -> None:
    try:
        main()
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
        sys.exit(f"{Path(sys.argv[0]).name}: {escape_controls(str(what))}")
    except TreetokError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    except KeyboardInterrupt:
        print(f"{Path(sys.argv[0]).name}: interrupted", file=sys.stderr)
        sys.exit(130)
