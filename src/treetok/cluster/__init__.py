"""Big corpora, shard by shard, on the engine Daft: on all cores of one machine, or on a Ray cluster.

quiet.py               what Daft and Ray are told before they are imported
engine.py              Daft, and which of its runners to use
sources.py             the files behind paths, folders, patterns and object-store URLs
shards.py              which part of which file is one unit of work
read_shard.py          read one shard, wherever it is
shard_folder.py        the folder of results, one Parquet file per shard: what is done, what has changed
run_shards.py          run the same function on every shard
count_shards.py        count the words of every shard, and merge the counts
encode_shards.py       encode every shard to Parquet

Needs `daft`; nothing else in treetok imports this package unless it is asked for.
"""

# First: it is for those that import Daft.
from treetok.cluster import quiet  # noqa: F401

# isort: split

from treetok.cluster.count_shards import DaftCorpus
from treetok.cluster.encode_shards import encode_to_parquet

__all__ = ["DaftCorpus", "encode_to_parquet"]
