"""Build a tokenizer on the trees that `tools/train_trees.py` left, with the parser of `tools/distil_parser.py`.

    PYTHONPATH=src python tools/build_tokenizer.py CORPUS... RUN PARSER OUT --profile uncased --vocab-size 30000

The words of the text and those that RUN has get into the lexicon. Says how often the parser cuts unseen
words as the composition models would, with the vocabulary that was built.
"""

from __future__ import annotations

import argparse
import dataclasses
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distil_parser import UNSEEN
from treetok import TreeTokenizer, TreetokError
from treetok.cli.script import run, text_of
from treetok.lexicon import Lexicon
from treetok.model.distillation.distil import segmentation_agreement
from treetok.sources.parser import ParserTrees
from treetok.storage.format import PARSER
from treetok.storage.load import read_arrays
from treetok.text import profile_named
from treetok.tree import split_depths
from treetok.vocabulary import DEFAULT_METHOD
from words_of_run import WordsOfRun


class KnownTrees:
    """The trees of the words of a run; the parser's of all others. Accents, which the run's text lacks, are
    overlooked."""

    def __init__(self, words: WordsOfRun, parser: ParserTrees) -> None:
        self.scores, self.parser = words.scores(), parser

    def split_scores(self, words: Sequence[str]) -> list[Any]:
        plain = [without_accents(word) for word in words]
        others = [word for word in plain if word not in self.scores]
        of_others = dict(zip(others, self.parser.split_scores(others), strict=True))
        return [self.scores[word] if word in self.scores else of_others[word] for word in plain]


def scores_of_lexicon(lexicon: Lexicon) -> dict[str, Any]:
    return {word: lexicon.scores(word) for word in lexicon.words()}


def without_needless_words(scores: Mapping[str, Any], counts: Mapping[str, int], parser: ParserTrees) -> Lexicon:
    """A lexicon without rare words, seen once at most, to which the parser gives the same trees: a third of its
    size is saved, nothing is cut otherwise, and the parser is slower for few words."""
    rare = sorted(word for word in scores if counts.get(without_accents(word), 0) <= 1)
    pairs = zip(rare, parser.split_scores(rare), strict=True)
    needless = {word for word, of_parser in pairs if split_depths(of_parser) == split_depths(scores[word])}
    return Lexicon.from_scores({word: of_word for word, of_word in scores.items() if word not in needless})


def without_accents(word: str) -> str:
    """One character for one character.

    >>> without_accents("naïve"), without_accents("東京")
    ('naive', '東京')
    """
    if word.isascii():
        return word
    return "".join(unicodedata.normalize("NFD", character)[0] for character in word)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="+")
    parser.add_argument("run", type=Path)
    parser.add_argument("parser", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--profile", default="uncased")
    parser.add_argument("--vocab-size", type=int, default=30_000)
    parser.add_argument("--vocab", default=DEFAULT_METHOD)
    parser.add_argument("--alignment", type=float)
    parser.add_argument("--min-word-count", type=int, default=1)
    parser.add_argument("--card", type=Path, help="a file with the model card")
    options = parser.parse_args()
    parser_file = options.parser / PARSER
    distilled = read_arrays(parser_file.read_bytes(), parser_file, ParserTrees.from_arrays)
    words = WordsOfRun.load(options.run)
    trees = KnownTrees(words, distilled)
    unseen = text_of(options.parser / UNSEEN).split()
    card = None if options.card is None else text_of(options.card)
    if not unseen or not trees.scores.keys() >= set(unseen):
        raise TreetokError(f"the words in {options.parser / UNSEEN} are not those of {options.run}")
    tokenizer = TreeTokenizer.train(
        options.corpus,
        options.vocab_size,
        trees,
        options.profile,
        vocab=options.vocab,
        alignment=options.alignment,
        min_word_count=options.min_word_count,
    )
    segmenter = tokenizer.state.segmenter()
    in_text = profile_named(tokenizer.profile).in_running_text
    alike = round(segmentation_agreement(distilled, trees.scores, segmenter, unseen, in_text), 4)
    settings = {
        **tokenizer.state.settings,
        "trees": "neural",
        "unseen_words": len(unseen),
        "cut_as_the_model_would_of_unseen_words": alike,
    }
    # The run may have words of other texts, too.
    lexicon = without_needless_words(
        {**trees.scores, **scores_of_lexicon(tokenizer.state.lexicon)}, words.counts, distilled
    )
    parts = dataclasses.replace(tokenizer.state, lexicon=lexicon, source=distilled, settings=settings, card=card)
    TreeTokenizer(parts).save(options.out)
    print(f"{options.out}: {tokenizer.vocab_size} tokens; of {len(unseen)} unseen words {alike:.1%} are cut alike")


if __name__ == "__main__":
    run(main)
