"""The same on a Ray cluster of two nodes, one worker of which is killed."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from small_corpus import read_ids, write_corpus

from treetok.corpus.counting import count_words
from treetok.text import profile_named


def test_a_cluster_gives_the_same_and_survives_the_loss_of_a_worker(lossless, tmp_path):
    corpus, model = tmp_path / "corpus", tmp_path / "model"
    files = write_corpus(corpus)
    lossless.save(model)
    script = Path(__file__).parent / "on_two_ray_nodes.py"
    result = subprocess.run(
        [sys.executable, script, corpus, model, tmp_path],
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    counts, digests = json.loads((tmp_path / "counts.json").read_text())
    assert counts == count_words(files, profile_named("lossless")).counts()
    assert digests == [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    # The shard of the killed worker was given to another one, and none was counted twice.
    assert (tmp_path / "killed").exists()
    done = (tmp_path / "log").read_text().split()
    assert len(done) == len(set(done)) == len(list((tmp_path / "counts").glob("*.parquet")))
    lossless.encode_files(files, tmp_path / "plain.npy", progress=False)
    assert read_ids(tmp_path / "ids")[0] == np.load(tmp_path / "plain.npy").tolist()
