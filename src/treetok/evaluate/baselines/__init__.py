"""Tokenizers that TreeTok is compared with.

`subword.py` (BPE, WordPiece, Unigram) and `morfessor_baseline.py` are trained on the same words as TreeTok;
`top_down.py` is TreeTok without post-merge;
`pretrained.py` wraps tokenizers trained elsewhere; `word_table.py` reads segmentations from a file. Third-party
libraries are imported only when they are needed.
"""

# What `treetok eval --against` can train. "counts" is TreeTok with trees from n-gram counts.
TRAINABLE = ("bpe", "wordpiece", "wordpiece-unmarked", "unigram", "morfessor", "counts")
# What it can make of the models without training: TreeTok without post-merge.
TOP_DOWN = "top-down"
DEFAULT_VOCAB_SIZE = 30_000
DEFAULT_PROFILE = "uncased"
