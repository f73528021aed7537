"""A process that holds one library, for `encode.py`: it answers requests, or encodes a text once and ends.

A library of its own process cannot disturb the others, gets environment variables before it is imported, and has
its memory to itself. Requests and answers are lines of JSON.

python benchmarks/encoder_process.py LIBRARY FOLDER [--once TEXT]
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from encoders import LIBRARIES
from process_memory import resident_bytes

LEAST_SECONDS = 0.1
# One thread each, whatever a library computes with. Set before anything is imported.
ONE_THREAD = {
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
# Compiled files are kept, as for users: a library in an editable install is compiled every time without.
KEEP_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}


# ---- for the process that asks


def command(library: str, folder: Path, *more: str) -> list[str]:
    return [sys.executable, str(Path(__file__).resolve()), library, str(folder), *more]


def environment(library: str) -> dict[str, str]:
    return {**os.environ, **ONE_THREAD, **KEEP_COMPILED, **LIBRARIES[library].environment}


class LibraryError(Exception):
    """A library is not installed, or cannot do what it is asked for."""


class EncoderProcess:
    def __init__(self, library: str, folder: Path) -> None:
        self.library = library
        self._process = subprocess.Popen(
            command(library, folder),
            env=environment(library),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            self._receive()
        except LibraryError:
            self.close()
            raise

    def ask(self, **request: Any) -> dict[str, Any]:
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise LibraryError("its process has ended") from None
        return self._receive()

    def close(self) -> None:
        # Closing its input ends the process.
        self._process.communicate()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise LibraryError(f"its process ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LibraryError(answer["error"])
        return answer


# ---- for the process with the library


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """As `timeit` does: a collection in one round would count against a library at random."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Encoder:
    """Answers requests: each method is one."""

    def __init__(self, library: str, folder: Path) -> None:
        before = resident_bytes()
        start = time.perf_counter()
        importlib.import_module(LIBRARIES[library].module)
        imported = time.perf_counter()
        self.calls = LIBRARIES[library].load(folder)
        loaded = time.perf_counter()
        self.loading = {
            "import seconds": imported - start,
            "load seconds": loaded - imported,
            "resident bytes": resident_bytes() - before,
        }

    def read(self, path: str) -> dict[str, Any]:
        self._path = Path(path)
        self._lines = read_lines(self._path)
        self._text = "\n".join(self._lines)
        return {"tasks": list(self.calls)}

    def encode(self, task: str) -> dict[str, Any]:
        """The time of a task, from objects in memory to objects in memory: the mean of as many times as fill a
        tenth of a second, since other libraries have just emptied the caches of the processor."""
        given = self._input(task)
        times, seconds = 0, 0.0
        with without_garbage_collection():
            start, cpu = time.perf_counter(), time.process_time()
            while seconds < LEAST_SECONDS:
                result = self.result_of(task, given)
                times += 1
                seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
                del result
        return {"seconds": seconds / times, "CPU seconds": cpu_seconds / times}

    def check(self) -> dict[str, Any]:
        """Checksums of the ids of every line and of the whole text, and the tasks whose ids are not those of the
        lines, or of the text if a file is to be encoded as a whole."""
        import numpy as np

        ids = self.result_of("line", self._lines)
        arrays = [np.asarray(of_line, dtype=np.uint32) for of_line in ids]
        together = np.concatenate(arrays)
        differing = []
        if self.calls["batch"](self._lines) != ids:
            differing.append("batch")
        text = np.asarray(self.calls["text"](self._text), dtype=np.uint32)
        for task, expected in (("flat", together), ("two threads", together), ("file", text)):
            call = self.calls.get(task)
            if call is not None and not np.array_equal(np.asarray(call(self._input(task))), expected):
                differing.append(task)
        checksums = [zlib.crc32(array.tobytes()) for array in [*arrays, text]]
        return {"tokens": len(together), "checksums": checksums, "differing": differing}

    def result_of(self, task: str, given: Any) -> Any:
        call = self.calls[task]
        return [call(line) for line in given] if task == "line" else call(given)

    def _input(self, task: str) -> Any:
        return {"text": self._text, "file": self._path}.get(task, self._lines)


def answer_requests(library: str, folder: Path, answers: IO[str]) -> None:
    def answer(content: dict[str, Any]) -> None:
        print(json.dumps(content), file=answers, flush=True)

    # Whatever goes wrong in a library is its answer: the comparison goes on without it.
    try:
        encoder = Encoder(library, folder)
        answer({})
        for line in sys.stdin:
            request = json.loads(line)
            answer(getattr(encoder, request.pop("what"))(**request))
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})


def encode_once(library: str, folder: Path, text: Path, answers: IO[str]) -> None:
    encoder = Encoder(library, folder)
    lines = read_lines(text)
    start = time.perf_counter()
    ids = encoder.result_of(LIBRARIES[library].first_touch, lines)
    figures = {"encode seconds": time.perf_counter() - start, "tokens": sum(map(len, ids))}
    print(json.dumps({**encoder.loading, **figures}), file=answers, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--once", type=Path, metavar="TEXT")
    options = parser.parse_args()
    # A library that prints must not get in between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if options.once:
        encode_once(options.library, options.folder, options.once, answers)
    else:
        answer_requests(options.library, options.folder, answers)


if __name__ == "__main__":
    main()
