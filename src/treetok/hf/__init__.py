"""TreeTok in transformers. Importing this registers the class: `AutoTokenizer.from_pretrained(directory)` then loads
any directory that `TreeTokenizer.save` wrote."""

from treetok.hf.tokenizer import TreeTokTokenizer

__all__ = ["TreeTokTokenizer"]
