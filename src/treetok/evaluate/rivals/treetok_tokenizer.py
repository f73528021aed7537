"""TreeTok among its rivals."""

from __future__ import annotations

from treetok.tokenizer import TreeTokenizer


class TreeTokContestant:
    """A TreeTokenizer under the interface of the evaluation; `tokenizer` is the tokenizer itself."""

    def __init__(self, tokenizer: TreeTokenizer, name: str = "TreeTok") -> None:
        self.tokenizer = tokenizer
        self.name = name
        self.vocabulary_size: int | None = tokenizer.vocab_size

    def __repr__(self) -> str:
        return f"<{self.name}: {self.vocabulary_size} entries>"

    def segment(self, word: str) -> list[str]:
        return self.tokenizer.segment(word)

    def tokenize(self, text: str) -> list[str]:
        return self.tokenizer.tokenize(text)
