"""TreeTok in transformers. Once this is imported, `AutoTokenizer.from_pretrained(directory)` loads any directory
that `TreeTokenizer.save` wrote."""

from treetok.hf.tokenizer import TreeTokTokenizer

__all__ = ["TreeTokTokenizer"]
