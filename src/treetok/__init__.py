"""TreeTok: a tokenizer that segments words along their morphological trees."""

from treetok.decode_stream import DecodeStream
from treetok.errors import TreetokError, TreetokWarning
from treetok.sources import TreeSource
from treetok.tokenizer import Encoding, TreeTokenizer
from treetok.tree import Tree
from treetok.version import __version__

__all__ = [
    "DecodeStream",
    "Encoding",
    "Tree",
    "TreeSource",
    "TreeTokenizer",
    "TreetokError",
    "TreetokWarning",
    "__version__",
]
