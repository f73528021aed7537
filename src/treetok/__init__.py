"""TreeTok: a tokenizer that segments words along their morphological trees."""

import importlib
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from treetok.decode_stream import DecodeStream
    from treetok.encoding import Encoding, FlatEncoding
    from treetok.errors import TreetokError, TreetokWarning
    from treetok.sources import TreeSource
    from treetok.tokenizer import TreeTokenizer
    from treetok.tree import Tree
else:
    # Imported when they are first used, so that the command says what Ctrl-C means from its start.
    MODULES = {
        "DecodeStream": "decode_stream",
        "Encoding": "encoding",
        "FlatEncoding": "encoding",
        "Tree": "tree",
        "TreeSource": "sources",
        "TreeTokenizer": "tokenizer",
        "TreetokError": "errors",
        "TreetokWarning": "errors",
    }

    def __getattr__(name):
        if name not in MODULES:
            raise AttributeError(f"module 'treetok' has no attribute {name!r}")
        globals()[name] = getattr(importlib.import_module(f"treetok.{MODULES[name]}"), name)
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *MODULES})
