"""Check that nothing is lost when a command is killed or the disk fails: whatever happens, what was there before
or what is new is there, as a whole, and the next run gives the same bytes and leaves nothing else behind.

Commands are killed at random moments, and at each of their system calls that concern the folder they write to.
Then each of these calls fails: no space, quota, read-only, input/output error. Needs Linux and strace. A table
says what was tried; the status is 1 if anything went wrong.

Then processes save two tokenizers to one directory and are killed all the time, while others load it.

python scripts/check_faults.py [encode] [save] [train] [neural] [daft] [together] [--kills 500] [--seed 0]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
TREETOK = [sys.executable, "-m", "treetok"]
# No other writes than those of the command itself, and always the same.
ENVIRONMENT = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
ENVIRONMENT |= {"PYTHONWARNINGS": "ignore", "DAFT_ANALYTICS_ENABLED": "0"}
CALLS = "openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir"
CALLS += ",mkdirat,close,flock,getdents64,newfstatat"
ERRORS = {
    "openat": ["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE"],
    "write": ["ENOSPC", "EDQUOT", "EIO", "EINTR"],
    "pwrite64": ["ENOSPC", "EIO"],
    "fsync": ["ENOSPC", "EDQUOT", "EIO", "EINTR"],
    "rename": ["ENOSPC", "EDQUOT", "EROFS", "EIO"],
    "renameat": ["ENOSPC", "EIO"],
    "renameat2": ["ENOSPC", "EIO"],
    "unlink": ["EROFS", "EIO"],
    "unlinkat": ["EIO"],
    "rmdir": ["EROFS", "EIO"],
    "mkdir": ["ENOSPC", "EDQUOT", "EROFS", "EIO"],
    "mkdirat": ["ENOSPC", "EIO"],
    "close": ["EIO", "ENOSPC"],
    "flock": ["ENOLCK", "EINTR"],
    "getdents64": ["EIO"],
    "newfstatat": ["EIO"],
}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class Scenario:
    """A command that writes to a folder, and what is in that folder before and after.

    prepare: makes the folder as it is before.
    result: the part of the folder that must be that of before or after; raises an error if it cannot be read.
    ignored: files that need not be the same each time: logs, with times.
    """

    name: str
    command: Callable[[Path], list[str]]
    prepare: Callable[[Path], object]
    result: Callable[[Path], str]
    share_of_kills: float
    ignored: str = "$."
    is_one_process: bool = True

    def files(self, folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            for path in sorted(folder.rglob("*"))
            if not re.search(self.ignored, str(path.relative_to(folder)))
        }


class Wrong(Exception):
    pass


# ---- scenarios


def all_scenarios(work: Path) -> Iterator[Scenario]:
    text, small = work / "text.txt", work / "small.txt"
    text.write_text(
        "".join(path.read_text("utf-8") for path in sorted((ROOT / "sample_text").glob("*.txt"))), "utf-8"
    )
    lines = text.read_text("utf-8").splitlines(keepends=True)
    small.write_text("".join(lines[: len(lines) // 4]), "utf-8")
    models = {}
    for name, size in (("old", 500), ("new", 600)):
        models[name] = str(work / name)
        train = [*TREETOK, "train", text, "-o", models[name], "--trees", "counts", "--vocab-size", str(size)]
        subprocess.run([*map(str, train), "--quiet"], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)

    def old_ids(folder: Path) -> None:
        folder.mkdir()
        (folder / "ids.npy").write_bytes(b"old")

    def old_tokenizer(folder: Path) -> None:
        shutil.copytree(models["old"], folder / "tokenizer")

    yield Scenario(
        "encode",
        lambda folder: ["encode", str(text), "--model", models["new"], "-o", str(folder / "ids.npy")],
        old_ids,
        lambda folder: hashlib.sha256((folder / "ids.npy").read_bytes()).hexdigest(),
        0.3,
    )
    yield Scenario(
        "save",
        lambda folder: [
            "special-tokens",
            models["new"],
            "-o",
            str(folder / "tokenizer"),
            "--add",
            "<a>",
            "--force",
        ],
        old_tokenizer,
        lambda folder: loaded(folder / "tokenizer"),
        0.3,
    )
    yield Scenario(
        "train",
        lambda folder: [
            *("train", str(small), "-o", str(folder / "tokenizer"), "--trees", "counts", "--vocab-size", "400"),
            *("--quiet", "--force"),
        ],
        old_tokenizer,
        lambda folder: loaded(folder / "tokenizer"),
        0.2,
    )
    yield Scenario(
        "neural",
        lambda folder: neural_command(small, folder),
        Path.mkdir,
        loaded_if_there,
        0.12,
        r"log\.jsonl|tensorboard|run\.json",
    )
    if is_installed("daft"):
        yield Scenario(
            "daft",
            lambda folder: [
                *("encode", str(text), str(small), "--engine", "daft", "--model", models["new"], "-o"),
                *(str(folder / "ids"), "--threads", "2"),
            ],
            Path.mkdir,
            lambda folder: "",
            0.08,
            is_one_process=False,
        )


def neural_command(text: Path, folder: Path) -> list[str]:
    sys.path.insert(0, str(ROOT / "tests" / "pipeline"))
    from minute import command

    # A checkpoint for every step, nearly.
    short = ("--set", "training.steps=20", "--set", "distillation.epochs=2", "--checkpoint-seconds", "0.01")
    return command(text, folder / "tokenizer", "--resume", *short)[len(TREETOK) :]


def is_installed(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


def loaded(directory: Path) -> str:
    """What a tokenizer does, its settings and its card."""
    from treetok import TreeTokenizer

    tokenizer = TreeTokenizer.load(directory)
    state = tokenizer.state
    described = repr(
        (tokenizer.encode("The cat windsurfed home."), tokenizer.get_vocab(), dict(state.settings), state.card)
    )
    return hashlib.sha256(described.encode()).hexdigest()


def loaded_if_there(folder: Path) -> str:
    directory = folder / "tokenizer"
    return loaded(directory) if (directory / "treetok.json").exists() else ""


# ---- running


def run(
    arguments: Sequence[str], kill_after: float | None = None, number: int = signal.SIGKILL
) -> tuple[int, str]:
    """The status and standard error of a command, which may be killed, with all its processes."""
    process = subprocess.Popen(
        arguments, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, errors = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=300)
    return process.returncode, errors.decode()


def run_here(arguments: Sequence[str]) -> tuple[int, str]:
    """The same without starting Python."""
    from treetok.cli import main as treetok

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        status = treetok(list(arguments[len(TREETOK) :]))
    return status, errors.getvalue()


def run_traced(arguments: Sequence[str], injected: str) -> tuple[int, str]:
    tracer = ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", f"trace={injected.split(':')[0]}"]
    if "signal" not in injected:
        # Faster, but no signals come through.
        tracer.append("--seccomp-bpf")
    return run([*tracer, "-e", f"inject={injected}", *arguments])


def points(arguments: Sequence[str], folder: Path, log: Path) -> list[tuple[str, int]]:
    """The system calls that concern a folder, each with its number among those of its kind, which are counted for
    each thread: those of the first one."""
    tracer = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "0", "-qqq", "-o", str(log), "-e", f"trace={CALLS}"]
    status, errors = run([*tracer, *arguments])
    if status:
        raise Wrong(f"status {status} under strace: {errors}")
    seen: Counter[str] = Counter()
    found = []
    first = None
    for line in log.read_text("utf-8", "replace").splitlines():
        thread, _, rest = line.partition(" ")
        first = first or thread
        call = rest.lstrip().partition("(")[0]
        if thread != first or not call.isidentifier():
            continue
        seen[call] += 1
        if str(folder) in rest:
            found.append((call, seen[call]))
    return found


class Check:
    """Tries one scenario, and counts what comes out."""

    def __init__(self, scenario: Scenario, work: Path) -> None:
        self.scenario, self.work = scenario, work
        self.folder = work / "folder"
        self.arguments = [*TREETOK, *scenario.command(self.folder)]
        self.rows: dict[str, Counter[str]] = {}
        self.begin()
        self.old = scenario.result(self.folder)
        began = time.monotonic()
        status, errors = run(self.arguments)
        self.seconds = time.monotonic() - began
        if status:
            raise Wrong(f"{scenario.name}: status {status} undisturbed: {errors}")
        self.new = scenario.result(self.folder)
        self.files = scenario.files(self.folder)

    def begin(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.scenario.prepare(self.folder)

    def count(self, what: str, outcome: str) -> None:
        self.rows.setdefault(what, Counter())[outcome] += 1

    def outcome(self, status: int, errors: str, is_killed: bool) -> str:
        """What a disturbed run has done; raises Wrong if that must not be."""
        try:
            result = self.scenario.result(self.folder)
        except Exception as error:
            raise Wrong(f"it does not load: {error}") from None
        if result not in (self.old, self.new):
            raise Wrong("neither old nor new")
        is_new = result == self.new and self.new != self.old
        if not is_killed:
            complaints = [line for line in errors.splitlines() if line.startswith("treetok: ")]
            if "Traceback" in errors:
                raise Wrong(f"traceback: {errors}")
            if status == 0 and result != self.new:
                raise Wrong("status 0, and not done")
            if status not in (0, 1) or (status == 1 and len(complaints) != 1):
                raise Wrong(f"status {status}: {errors!r}")
            if status == 1 and is_new:
                raise Wrong(f"status 1, and new: {errors!r}")
        return "new" if is_new else "old"

    def left_behind(self) -> set[str]:
        return {
            name for name in self.scenario.files(self.folder) if re.search(r"treetok-|unfinished|\.json\.", name)
        }

    def finish(self) -> None:
        """Run the command again, undisturbed."""
        status, errors = run_here(self.arguments) if self.scenario.is_one_process else run(self.arguments)
        if status and "--force" not in self.arguments and "already has a tokenizer" not in errors:
            raise Wrong(f"the next run: status {status}: {errors}")
        files = self.scenario.files(self.folder)
        if files != self.files:
            different = {name for name in files.keys() | self.files if files.get(name) != self.files.get(name)}
            raise Wrong(f"after the next run, other files: {sorted(different)}")
        if left := self.left_behind():
            raise Wrong(f"left behind after the next run: {sorted(left)}")

    def disturbed(self, what: str, where: str, how: Callable[[], tuple[int, str]], is_killed: bool) -> None:
        self.begin()
        try:
            status, errors = how()
            ended = status == 0
            outcome = self.outcome(status, errors, is_killed)
            left = " +left" if self.left_behind() else ""
            self.finish()
            self.count(what, "done" if ended else outcome + left)
        except Wrong as error:
            self.count(what, "WRONG")
            print(f"{self.scenario.name}, {what}, {where}: {error}", flush=True)

    def kill_at_random(self, times: int, rng: random.Random) -> None:
        for number in range(times):
            how = SIGNALS[number % len(SIGNALS)]
            moment = rng.uniform(0.02, self.seconds * 1.1)
            self.disturbed(how.name, f"after {moment:.3f} s", partial(self.stopped, moment, how), is_killed=True)

    def stopped(self, moment: float, how: signal.Signals) -> tuple[int, str]:
        status, errors = run(self.arguments, moment, how)
        is_cleaning_up = how != signal.SIGKILL and self.scenario.is_one_process
        if is_cleaning_up and status and (left := self.left_behind()):
            raise Wrong(f"{how.name} left {sorted(left)}")
        if len([line for line in errors.splitlines() if line.startswith("treetok: ")]) > 1:
            raise Wrong(f"{how.name}: {errors}")
        # Python itself may be stopped while it starts.
        if "Traceback" in errors and "<frozen " not in errors:
            raise Wrong(f"{how.name}: {errors}")
        return status, errors

    def kill_and_fail_at_points(self, most: int, rng: random.Random) -> None:
        self.begin()
        faults = [
            (call, number, fault)
            for call, number in points(self.arguments, self.folder, self.work / "log")
            for fault in ["KILL", *ERRORS[call]]
        ]
        for call, number, fault in faults if len(faults) <= most else rng.sample(faults, most):
            kind = "signal" if fault == "KILL" else "error"
            self.disturbed(
                f"{fault} at {call}",
                f"number {number}",
                partial(run_traced, self.arguments, f"{call}:{kind}={fault}:when={number}"),
                is_killed=fault == "KILL",
            )

    def fill_disk(self) -> None:
        """With less and less room for a file."""
        for blocks in (0, 1, 8, 64, 256):
            limited = ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "bash", *self.arguments]
            self.disturbed("file size limit", f"{blocks} blocks", partial(run, limited), is_killed=False)


# ---- several processes


def check_together(work: Path, kills: int, rng: random.Random) -> bool:
    """Three processes save one of two tokenizers, again and again, until they are killed; two load it."""
    from treetok import TreeTokenizer

    tokenizers = [TreeTokenizer.load(work / name) for name in ("old", "new")]
    allowed = {loaded(work / name) for name in ("old", "new")}
    target, log = work / "together", work / "together.log"
    tokenizers[0].save(target)

    def save() -> None:
        while True:
            random.choice(tokenizers).save(target)

    def load() -> None:
        while True:
            note("load" if loaded(target) in allowed else "WRONG: neither the one nor the other")

    def note(line: str) -> None:
        with log.open("a") as file:
            file.write(line + "\n")

    def forked(work: Callable[[], None]) -> int:
        if number := os.fork():
            return number
        try:
            random.seed()
            work()
        except Exception as error:
            note(f"WRONG: {error}")
        finally:
            os._exit(1)

    def kill(number: int) -> None:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)

    readers, writers = [forked(load) for _ in range(2)], [forked(save) for _ in range(3)]
    for turn in range(kills):
        time.sleep(rng.uniform(0.01, 0.15))
        kill(writers[turn % 3])
        writers[turn % 3] = forked(save)
    for number in [*readers, *writers]:
        kill(number)
    tokenizers[0].save(target)
    left = sorted({path.name for path in target.iterdir()} ^ {path.name for path in (work / "old").iterdir()})
    outcomes = Counter(log.read_text().splitlines())
    print(f"together: {kills} kills; {dict(outcomes)}; left behind after the next save: {left}", flush=True)
    return outcomes.keys() == {"load"} and not left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--kills", type=int, default=500, help="at random moments, in all (default: 500)")
    parser.add_argument("--faults", type=int, default=1000, help="at system calls, at most for each scenario")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # In the background, shells have it ignored, also by the commands that are started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_wrong = False
    with tempfile.TemporaryDirectory(dir="/dev/shm") as temporary:
        scenarios = list(all_scenarios(Path(temporary)))
        if not options.scenarios or "together" in options.scenarios:
            is_wrong |= not check_together(Path(temporary), options.kills, random.Random(options.seed))
        for scenario in scenarios:
            if options.scenarios and scenario.name not in options.scenarios:
                continue
            check = Check(scenario, Path(temporary))
            check.kill_at_random(round(options.kills * scenario.share_of_kills), random.Random(options.seed))
            if scenario.is_one_process and options.faults:
                check.kill_and_fail_at_points(options.faults, random.Random(options.seed))
                check.fill_disk()
            for what, outcomes in check.rows.items():
                tries = sum(outcomes.values())
                shown = ", ".join(f"{times} {outcome}" for outcome, times in sorted(outcomes.items()))
                print(f"{scenario.name:8} {what:22} {tries:4}   {shown}", flush=True)
                is_wrong |= "WRONG" in outcomes
    sys.exit(1 if is_wrong else 0)


if __name__ == "__main__":
    main()
