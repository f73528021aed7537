"""Run by `test_on_ray.py` in a process of its own: Daft's runner can be chosen once per process.

A cluster of two nodes on this machine counts a corpus, while one of its workers is killed, and encodes it.
"""

import json
import os
import signal
import sys
from pathlib import Path

from ray.cluster_utils import Cluster

from treetok import TreeTokenizer
from treetok.cluster import DaftCorpus, count_shards, encode_to_parquet
from treetok.progress import Progress
from treetok.text import profile_named


def main(corpus: str, model: str, work: Path) -> None:
    node = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    killed, log = work / "killed", work / "log"

    class KilledOnce(count_shards.CountWords):
        def __call__(self, shard):
            if shard.source.endswith("c.parquet") and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            super().__call__(shard)
            with log.open("a") as file:
                file.write(f"{shard.name}\n")

    count_shards.CountWords = KilledOnce
    options = {"runner": "ray", "ray_address": cluster.address, "shard_bytes": 20_000}
    counting = DaftCorpus(corpus, work / "counts", **options)
    counted = counting.count(profile_named("lossless"), "text", 10**9, Progress(None))
    (work / "counts.json").write_text(json.dumps([counted.counts, [part.hex() for part in counted.digests]]))
    encode_to_parquet(TreeTokenizer.load(model), corpus, work / "ids", progress=False, **options)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
