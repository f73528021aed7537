"""A small corpus in every format, and the ids in a folder of results."""

import gzip
import json
import lzma

import pyarrow
import pyarrow.parquet
import zstandard

from conftest import SAMPLE_FILES

TEXTS = [path.read_text(encoding="utf-8") for path in SAMPLE_FILES]
END = "<|endoftext|>"


def write_corpus(folder):
    """Make a folder with a file of each format, and return the files in order. Some rows have no text."""
    (folder / "more").mkdir(parents=True)
    rows = "\n\n".join(json.dumps({"text": text}) for text in [*TEXTS[:2], None, "", TEXTS[2]]) + "\n"
    (folder / "a.jsonl").write_text(rows, encoding="utf-8")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    table = pyarrow.table({"text": [TEXTS[3], None, TEXTS[4], "", TEXTS[5]]})
    pyarrow.parquet.write_table(table, folder / "c.parquet")
    (folder / "more" / "d.txt").write_text("\ufeff" + "".join(TEXTS), encoding="utf-8")
    (folder / "more" / "e.txt.xz").write_bytes(lzma.compress(TEXTS[6].encode()))
    (folder / "more" / "f.txt.zst").write_bytes(zstandard.compress(TEXTS[7].encode()))
    (folder / "more" / "empty.txt").write_text("")
    (folder / "_SUCCESS").write_text("not text of the corpus")
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "_SUCCESS"]


def read_ids(folder):
    """The ids of all documents in a folder of results, in the order of sources, rows and offsets."""
    table = pyarrow.concat_tables(
        pyarrow.parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))
    ).sort_by([("source", "ascending"), ("row", "ascending"), ("offset", "ascending")])
    return table["ids"].combine_chunks().values.to_pylist(), table
