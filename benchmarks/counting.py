"""Time and memory of counting the words of a corpus, one process per profile.

python benchmarks/counting.py CORPUS
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from treetok.corpus import count_words
from treetok.text import PROFILES, profile_named


def run_profile(path: str, profile: str) -> dict[str, object]:
    start = time.perf_counter()
    counts = count_words(Path(path), profile_named(profile)).counts()
    return {
        "profile": profile,
        "words": sum(counts.values()),
        "types": len(counts),
        "seconds": round(time.perf_counter() - start, 1),
        "peak, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(run_profile(sys.argv[1], sys.argv[2])))
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for profile in PROFILES:
        subprocess.run([sys.executable, __file__, sys.argv[1], profile], check=True)


if __name__ == "__main__":
    main()
