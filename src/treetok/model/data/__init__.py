"""The morpheme vocabulary and the substring table; needs no PyTorch."""
