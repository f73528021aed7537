"""Text on disk or in memory to word counts."""

from treetok.corpus.counting import WordCounter, count_words

__all__ = ["WordCounter", "count_words"]
