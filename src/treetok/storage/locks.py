"""Locks on open files. A lock ends with its process, however that ends: whoever gets the lock of an unfinished
file knows that nobody is writing it any more."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import time
from functools import cache
from pathlib import Path

SECONDS_UNTIL_STALE = 3600
# Windows locks bytes, and others cannot read these: one behind any content.
LOCKED_BYTE = 1 << 62


class NoLocks(Exception):
    """The file system has no locks."""


if sys.platform == "win32":
    import msvcrt

    def take_lock(descriptor: int) -> bool:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)
        return True

    def release_lock(descriptor: int) -> None:
        """It is released when the file is closed."""

else:
    import fcntl

    def take_lock(descriptor: int) -> bool:
        """Lock an open file until it is closed; False if another process, or thread, has locked it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            raise NoLocks from None
        return True

    def release_lock(descriptor: int) -> None:
        """Processes that were forked meanwhile have the open file, too, and would keep the lock."""
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_still_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is the one at this path: another process may have removed or replaced it."""
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@cache
def this_machine() -> str:
    """A name for the processes whose locks are certain to be seen here: those under the same running kernel. Some
    network file systems do not tell other machines who has locked a file."""
    try:
        name = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        name = platform.node().encode()
    return hashlib.sha256(name).hexdigest()[:8]


def is_stale(path: Path) -> bool:
    """Whether something unfinished has not changed for so long that its writer must be gone, wherever it ran."""
    return time.time() - path.stat(follow_symlinks=False).st_mtime > SECONDS_UNTIL_STALE
