"""Time of encoding 10 million characters in a fresh process: as one string, and cut into 20 000 strings; with one
and with two threads of the BLAS library.

python benchmarks/encoding.py TEXT [MODEL]
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from treetok import TreeTokenizer
from treetok.corpus.reading import read_texts

CHARACTERS, STRINGS = 10_000_000, 20_000


def strings_of(path: str) -> list[str]:
    text = ""
    for block in read_texts(Path(path)):
        text += block
        if len(text) >= CHARACTERS:
            break
    words = text[:CHARACTERS].split(" ")
    return [" ".join(words[len(words) * k // STRINGS : len(words) * (k + 1) // STRINGS]) for k in range(STRINGS)]


def measure(path: str, model: str, how: str) -> dict[str, object]:
    tokenizer, strings = TreeTokenizer.load(model), strings_of(path)
    wall, cpu = time.perf_counter(), time.process_time()
    encoded = tokenizer.encode_batch(strings) if how == "strings" else [tokenizer.encode(" ".join(strings))]
    return {
        "as": how,
        "BLAS threads": os.environ["OPENBLAS_NUM_THREADS"],
        "seconds": round(time.perf_counter() - wall, 2),
        "CPU seconds": round(time.process_time() - cpu, 2),
        "tokens": sum(map(len, encoded)),
    }


def main() -> None:
    if len(sys.argv) == 4:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path, model = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "en"
    for threads in ("1", "2"):
        for how in ("one string", "strings"):
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads}
            subprocess.run([sys.executable, __file__, path, model, how], env=environment, check=True)


if __name__ == "__main__":
    main()
