"""Build the fuzz targets, try their corpus, and then what a new seed makes of it. See fuzz/README.md.

python fuzz/run.py [--seconds 20] [--seed N] [TARGET ...]
python fuzz/run.py TARGET --input FILE
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# The longest inputs of each target.
NATIVE = {
    "decode": 512,
    "encode": 2048,
    "lexicon_and_counts": 2048,
    "parser": 2048,
    "vocabulary": 2048,
    "vocabulary_file": 2048,
    "word_counter": 2048,
}
PYTHON = {
    "settings": 4096,
    "tensors": 8192,
    "text": 512,
    "transformers_config": 4096,
    "vocab_tsv": 2048,
}
TARGETS = {**NATIVE, **PYTHON}
# Conversions of floats that do not fit are undefined, too, but not among the checks of `undefined`.
CHECKS = "fuzzer,address,undefined,float-cast-overflow"
FLAGS = [
    *("-std=c++17", "-gline-tables-only", "-O1", "-Wall", "-Wextra", "-ffp-contract=off", "-D_GLIBCXX_ASSERTIONS"),
    *(f"-fsanitize={CHECKS}", "-fno-sanitize-recover=all"),
]
# Seconds for one input, and megabytes.
LIMITS = ["-timeout=20", "-rss_limit_mb=2048"]


class Fuzzing:
    """A folder with a checkout, and one for what is built, learned and found."""

    def __init__(self, root: Path, work: Path) -> None:
        self.root, self.work = root, work
        self.work.mkdir(parents=True, exist_ok=True)
        (self.work / "failed").mkdir(exist_ok=True)

    def build(self, target: str) -> None:
        """Compile a target, unless it was compiled from the same sources."""
        if target not in NATIVE:
            return
        native, fuzz = self.root / "native", self.root / "fuzz"
        command = [
            *shlex.split(os.environ.get("CXX", "clang++")),
            *FLAGS,
            *shlex.split(os.environ.get("CXXFLAGS", "")),
            *(
                f"-I{native}",
                f"-I{self.tables().parent}",
                str(fuzz / f"{target}.cpp"),
                "-o",
                str(self.work / target),
            ),
        ]
        sources = [fuzz / f"{target}.cpp", *sorted(native.glob("*.h")), *sorted(fuzz.glob("*.h")), self.tables()]
        digest = hashlib.sha256("\0".join(command).encode())
        for source in sources:
            digest.update(source.read_bytes())
        built = self.work / f"{target}.sha256"
        if built.is_file() and built.read_text() == digest.hexdigest() and (self.work / target).is_file():
            return
        subprocess.run(command, check=True)
        built.write_text(digest.hexdigest())

    def tables(self) -> Path:
        """What characters are, made once."""
        tables = self.work / "tables" / "unicode_tables.h"
        if not tables.is_file():
            tables.parent.mkdir(exist_ok=True)
            script = self.root / "native" / "unicode_tables.py"
            subprocess.run([sys.executable, str(script), str(tables)], check=True)
        return tables

    def package(self) -> Path:
        """A folder with the package, as it is in the checkout, and its native core, wherever that is installed."""
        package = self.work / "package" / "treetok"
        shutil.rmtree(package, ignore_errors=True)
        package.mkdir(parents=True)
        found = "from treetok import _core; print(_core.__file__)"
        core = subprocess.run(
            [sys.executable, "-c", found], check=True, capture_output=True, text=True
        ).stdout.strip()
        sources = [path for path in (self.root / "src" / "treetok").iterdir() if not path.name.startswith("_core")]
        for path in [*sources, Path(core)]:
            (package / path.name).symlink_to(path)
        return package.parent

    def command(self, target: str) -> list[str]:
        if target in NATIVE:
            return [str(self.work / target)]
        return [sys.executable, str(self.root / "fuzz" / f"{target}.py")]

    def environment(self) -> dict[str, str]:
        return {"UBSAN_OPTIONS": "print_stacktrace=1", **os.environ, "PYTHONPATH": str(self.work / "package")}

    def fuzz(self, target: str, seconds: int, seed: int) -> Run:
        """Try the corpus, then new inputs."""
        learned, corpus, failed = self.work / "learned" / target, HERE / "corpus" / target, self.work / "failed"
        learned.mkdir(parents=True, exist_ok=True)
        log = self.work / f"{target}.log"
        command = [
            *self.command(target),
            *(f"-seed={seed}", f"-max_total_time={seconds}" if seconds else "-runs=0"),
            *(
                f"-max_len={TARGETS[target]}",
                *LIMITS,
                "-print_final_stats=1",
                f"-artifact_prefix={failed / target}-",
            ),
            *map(str, [learned, *[folder for folder in (corpus,) if folder.is_dir()]]),
        ]
        start = time.monotonic()
        # libFuzzer ends a process at once: what it leaves is removed here. Files are in memory if they can be.
        memory = Path("/dev/shm")
        with log.open("w") as output, TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            environment = self.environment() | {"TMPDIR": folder}
            status = subprocess.run(command, stdout=output, stderr=output, env=environment).returncode
        return Run(target, seed, status == 0, time.monotonic() - start, log)

    def repeat(self, target: str, file: Path) -> int:
        command = [*self.command(target), *LIMITS, str(file)]
        return subprocess.run(command, env=self.environment()).returncode

    def keep(self, target: str) -> None:
        """Put the smallest inputs that reach all that was reached into the corpus of the repository."""
        corpus, smaller = HERE / "corpus" / target, self.work / "smaller" / target
        shutil.rmtree(smaller, ignore_errors=True)
        smaller.mkdir(parents=True)
        # Not how often places are reached: the corpus shall be small.
        how = ["-merge=1", "-use_counters=0", f"-max_len={TARGETS[target]}", str(smaller)]
        sources = [str(folder) for folder in (corpus, self.work / "learned" / target) if folder.is_dir()]
        with (self.work / f"{target}.log").open("w") as log:
            subprocess.run(
                [*self.command(target), *how, *sources], check=True, stdout=log, stderr=log, env=self.environment()
            )
        shutil.rmtree(corpus, ignore_errors=True)
        shutil.copytree(smaller, corpus)
        sizes = [file.stat().st_size for file in corpus.iterdir()]
        print(f"{target}: {len(sizes)} inputs, {sum(sizes)} bytes", flush=True)


@dataclass
class Run:
    """How a target went."""

    target: str
    seed: int
    is_right: bool
    seconds: float
    log: Path

    def tell(self) -> None:
        log = self.log.read_text(errors="replace")
        if self.is_right:
            runs = re.search(r"number_of_executed_units: (\d+)", log)
            coverage = re.findall(r"cov: (\d+)", log)
            counts = f"{runs[1] if runs else '?'} inputs, {coverage[-1] if coverage else '?'} places reached"
            print(f"{self.target}: {counts} (seed {self.seed}, {self.seconds:.0f} s)", flush=True)
            return
        print(f"== {self.target}: FAILED with seed {self.seed} after {self.seconds:.0f} s; the end of {self.log}:")
        print(*log.splitlines()[-60:], sep="\n")
        if found := re.search(r"Test unit written to (\S+)", log):
            python = Path(sys.executable)
            shown = [
                path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in (python, Path(found[1]))
            ]
            print(f"== repeat it: {shown[0]} fuzz/run.py {self.target} --input {shown[1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=20, help="for each target; 0: only the corpus")
    parser.add_argument("--seed", type=int, help="default: a new one")
    parser.add_argument("--input", type=Path, help="try this file instead")
    parser.add_argument("--keep", action="store_true", help="put what was learned into fuzz/corpus instead")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    for target in targets:
        if target not in TARGETS:
            parser.error(f"there is no target {target}: choose from {', '.join(TARGETS)}")
    if options.input and len(options.targets) != 1:
        parser.error("--input needs the one target that takes it")
    fuzzing = Fuzzing(ROOT, ROOT / "build" / "fuzz")
    seed = options.seed if options.seed is not None else secrets.randbelow(1 << 31) + 1
    fuzzing.tables()
    if set(targets) & set(PYTHON):
        fuzzing.package()
    # The slowest first, two at once.
    with ThreadPoolExecutor(2) as two:
        list(two.map(fuzzing.build, sorted(targets, key="parser".__ne__)))
        if options.input:
            sys.exit(fuzzing.repeat(targets[0], options.input))
        if options.keep:
            list(two.map(fuzzing.keep, targets))
            return
        print(f"seed {seed}: {len(targets)} targets, {options.seconds} s each, two at once", flush=True)
        runs = []
        for run in two.map(lambda target: fuzzing.fuzz(target, options.seconds, seed), targets):
            run.tell()
            runs.append(run)
    sys.exit(0 if all(run.is_right for run in runs) else 1)


if __name__ == "__main__":
    main()
