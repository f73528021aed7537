"""The command line, as `treetok` and as `python -m treetok`."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = b"treetok: interrupted\n"


def main() -> int:
    # While modules are imported, exceptions may not come through: NumPy makes another one of Ctrl-C. Nothing has
    # been written yet, so there is nothing to clean up.
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_handled:
        signal.signal(signal.SIGINT, leave)
    from treetok.cli import main as run_command

    if is_handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run_command()


def leave(number: int, frame: FrameType | None) -> None:
    if sys.stderr is not None:
        os.write(sys.stderr.fileno(), INTERRUPTED)
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
