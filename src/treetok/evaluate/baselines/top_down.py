"""TreeTok without post-merge: words stay as top-down matching segments them, so that every token is a subtree.

Post-merge (Algorithm 2) joins neighbouring pieces across the tree. This shows what it gives and what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from treetok.evaluate.interface import NamedTreeTokenizer
from treetok.segment import Segmenter
from treetok.tokenizer import TreeTokenizer
from treetok.tokenizer_state import TokenizerState


class TopDownSegmenter(Segmenter):
    def cut(self, word: str, scores: Sequence[float]) -> list[str]:
        return self.match_top_down(word, scores)


@dataclass(frozen=True)
class TopDownState(TokenizerState):
    def segmenter(self) -> Segmenter:
        return TopDownSegmenter(self.counts, marked=self.marked)


def top_down_only(named: NamedTreeTokenizer) -> NamedTreeTokenizer:
    """The same trees and vocabulary, without post-merge."""
    state = named.tokenizer.state
    parts = {field.name: getattr(state, field.name) for field in fields(TokenizerState)}
    return NamedTreeTokenizer(TreeTokenizer(TopDownState(**parts)), f"{named.name}, top-down only")
