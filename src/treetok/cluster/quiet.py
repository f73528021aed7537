"""Daft and Ray report usage to their makers unless told not to, and Daft's own progress bars would mix with ours.

They look at this when they are imported, so it must be set before.
"""

from __future__ import annotations

import os

QUIET = {"DO_NOT_TRACK": "true", "RAY_USAGE_STATS_ENABLED": "0", "DAFT_PROGRESS_BAR": "0"}

for name, value in QUIET.items():
    os.environ.setdefault(name, value)
