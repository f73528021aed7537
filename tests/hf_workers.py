"""What worker processes run; spawned ones import it."""

from treetok.hf import TreeTokTokenizer


class Encode:
    """Encodes the texts of a batch of rows, for `datasets` and for a DataLoader."""

    def __init__(self, tok: TreeTokTokenizer) -> None:
        self.tok = tok

    def __call__(self, rows):
        return dict(self.tok(rows if isinstance(rows, list) else rows["text"]))
