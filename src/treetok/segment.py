"""Segmenting a word: top-down matching along its tree, then post-merge (Algorithms 1 and 2 of the paper).

In the paper, post-merge minimises the sum of entropies. A letter that is also a frequent word (`a`, `s`) has such
a low entropy that it is left unmerged: `hesper i a`, even though `ia` is a token. With `fewest_tokens`, post-merge
minimises the number of tokens first and uses entropies to break ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treetok.token_entropy import entropies_by_token
from treetok.tree import LEAF, arrange_splits

# More than the sum of the entropies of all tokens in a word.
COST_PER_TOKEN = 1 << 40


class Segmenter:
    """Segments words with a fixed vocabulary, given as token counts.

    marked: strings that can be made of a token with markers: the token, and the number of markers
        (`treetok.markers.marked_strings`).

    >>> Segmenter({"b": 1, "o": 1, "k": 1, "e": 9, "d": 9, "book": 5, "ed": 8}).cut("booked", [1, 1, 1, 8, 9])
    ['book', 'ed']
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        fewest_tokens: bool = False,
        marked: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        cost_per_token = COST_PER_TOKEN if fewest_tokens else 0
        # Post-merge minimises the sum of these.
        self.costs = {token: cost_per_token + entropy for token, entropy in entropies_by_token(counts).items()}
        # Where top-down matching may stop, and what it costs. Post-merge does not make strings with markers: that
        # loses boundaries and hardly saves tokens, since `ban|ana` has as many as `<join>`, ` banana`.
        self.pieces = self.costs | {
            string: markers * cost_per_token + self.costs[token]
            for string, (token, markers) in (marked or {}).items()
        }
        self.markers = {string: markers for string, (_, markers) in (marked or {}).items()}
        # A character outside the vocabulary costs as much as the rarest token.
        self.unknown = max(self.costs.values(), default=cost_per_token)
        self.longest = max(map(len, self.costs), default=0)

    def cut(self, word: str, scores: Sequence[float]) -> list[str]:
        """Segment a word into tokens of the vocabulary, strings made of them with markers, or single characters
        outside it. Without markers if these would cost tokens."""
        pieces = self.post_merge(self.match_top_down(word, scores))
        markers = sum(self.markers.get(piece, 0) for piece in pieces)
        if not markers:
            return pieces
        plain = self.post_merge(self.match_top_down(word, scores, markers=False))
        return plain if len(plain) < len(pieces) + markers else pieces

    def match_top_down(self, word: str, scores: Sequence[float], markers: bool = True) -> list[str]:
        """Algorithm 1: walk the tree from the root and stop at every span that is in the vocabulary, or can be
        made of it with markers."""
        stops = self.pieces if markers else self.costs
        splits = arrange_splits(scores)
        pieces = []
        stack = [(0, len(word), splits.root)]
        while stack:
            start, end, split = stack.pop()
            # Not looking up spans longer than any token keeps the walk linear in the length of the word.
            if split == LEAF or (end - start <= self.longest and word[start:end] in stops):
                pieces.append(word[start:end])
            else:
                stack.append((split + 1, end, splits.right[split]))
                stack.append((start, split + 1, splits.left[split]))
        return pieces

    def post_merge(self, pieces: list[str]) -> list[str]:
        """Algorithm 2: merge adjacent pieces so that the sum of costs is lowest.

        The pseudo-code fills a square table, but a Viterbi recursion over the last token needs only one row:
        `best[end]` is the lowest cost of the first `end` pieces. On ties the pseudo-code keeps the last split it
        finds, which is the one with the shortest last token.
        """
        if len(pieces) <= 1:
            return pieces
        best, last_start = [0], [0]
        for end in range(1, len(pieces) + 1):
            token = pieces[end - 1]
            lowest = best[end - 1] + self.pieces.get(token, self.unknown)
            from_piece = end - 1
            for start in range(end - 2, -1, -1):
                token = pieces[start] + token
                if len(token) > self.longest:
                    break
                cost = self.costs.get(token)
                if cost is not None and best[start] + cost < lowest:
                    lowest, from_piece = best[start] + cost, start
            best.append(lowest)
            last_start.append(from_piece)
        merged = []
        end = len(pieces)
        while end:
            merged.append("".join(pieces[last_start[end] : end]))
            end = last_start[end]
        return merged[::-1]
