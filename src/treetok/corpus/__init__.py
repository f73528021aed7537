"""Read text from disk or memory and count its words."""

from treetok.corpus.counting import WordCounter, count_words, texts_of, to_be_read_twice

__all__ = ["WordCounter", "count_words", "texts_of", "to_be_read_twice"]
