"""The commands and the code of docs/at-scale.md run, but for those that need an object store."""

import re
import shlex

import numpy as np

from conftest import ROOT, SAMPLE_FILES
from treetok import TreeTokenizer
from treetok.cli import main

PAGE = (ROOT / "docs" / "at-scale.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_text").symlink_to(ROOT / "sample_text")
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("treetok")]
    here = [command for command in commands if "://" not in command]
    assert (len(commands), len(here)) == (4, 2)
    for command in here:
        assert main(shlex.split(command)[1:]) == 0
    names = {}
    for block in blocks("python"):
        exec(block, names)
    # The second time, all shards were done already; and these are the same tokenizers and ids.
    assert names["mine"].state.entries == TreeTokenizer.load("my-tokenizer").state.entries
    names["tok"].encode_files(SAMPLE_FILES, "plain.npy", end="<|endoftext|>", progress=False)
    ids = [number for row in names["ids"].to_pydict()["ids"] for number in row]
    assert ids == np.load("plain.npy").tolist()
    frame = names["frame"].to_pydict()
    assert frame["ids"] == names["tok"].encode_batch(frame["text"])
