"""TreeTok: a tokenizer that segments words along their morphological trees."""

from treetok.decode_stream import DecodeStream
from treetok.encoding import Encoding, FlatEncoding
from treetok.errors import TreetokError, TreetokWarning
from treetok.sources import TreeSource
from treetok.tokenizer import TreeTokenizer
from treetok.tree import Tree
from treetok.version import __version__

__all__ = [
    "DecodeStream",
    "Encoding",
    "FlatEncoding",
    "Tree",
    "TreeSource",
    "TreeTokenizer",
    "TreetokError",
    "TreetokWarning",
    "__version__",
]
