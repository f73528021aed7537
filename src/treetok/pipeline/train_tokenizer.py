"""From a corpus to a tokenizer, stage by stage."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from treetok.corpus.counting import check_corpus, to_be_read_twice
from treetok.corpus.counts_by_letters import counts_by_letters
from treetok.corpus.sharded import CountedCorpus, ShardedCorpus
from treetok.errors import TreetokError
from treetok.install_hint import install_hint
from treetok.markers import Marker, marked_strings
from treetok.pipeline.artefacts import WORD_COUNTS
from treetok.pipeline.count_words import (
    CountedText,
    HashedCorpus,
    combined,
    count_text,
    fingerprint,
    frequent_words,
)
from treetok.pipeline.options import TrainOptions
from treetok.pipeline.ready_trees import TreesOfText, checked_source, ready_trees
from treetok.pipeline.run_directory import Made, Run, StageRecord
from treetok.pipeline.time_budget import Budget
from treetok.pipeline.vocabulary import check_size, choose_vocabulary, in_order_of_ids, make_room, roles_of
from treetok.progress import Progress, Stopped
from treetok.segment import Segmenter
from treetok.sources.tree_agreement import segmentation_agreement
from treetok.stop_signal import stop_signal
from treetok.tokenizer_state import TokenizerState
from treetok.torchrun import is_first_process
from treetok.version import __version__

VOCABULARY_FILE = "vocabulary.tsv"


@dataclass(frozen=True)
class Trained:
    """A tokenizer and the record of every stage; `done_before` names the stages finished in an earlier run."""

    state: TokenizerState
    stages: dict[str, StageRecord]
    done_before: set[str]


def train(
    corpus: Any,
    options: TrainOptions,
    *,
    directory: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool | Callable[[str, int, int | None], object] = False,
) -> Trained:
    """Run all stages. `directory`, `resume` and `force` are for neural trees only."""
    check_size(options)
    if not isinstance(corpus, ShardedCorpus):
        check_corpus(corpus)
    shown = Progress(progress if is_first_process() else False)
    if not options.is_neural:
        given = {"resume": resume, "force": force, "directory": directory is not None}
        for name in filter(given.get, given):
            raise TreetokError(f"{name}: for neural trees alone (--trees neural)")
        return train_quickly(corpus, options, shown)
    if isinstance(corpus, Mapping):
        raise TreetokError("trees='neural' are learned from running text, not from word counts")
    with stop_signal() as stopped:
        shown.is_stopping = stopped.is_set
        try:
            return train_neural(corpus, options, directory, resume, force, shown)
        except Stopped as error:
            kept = (
                "nothing was kept" if directory is None else f"{directory} has what is done; go on with --resume"
            )
            raise TreetokError(f"{error}: {kept}") from None


def train_quickly(corpus: Any, options: TrainOptions, progress: Progress) -> Trained:
    """Train with ready-made trees; no run directory is needed."""
    source = checked_source(options)
    run = Run.open(None, {}, resume=False)
    if isinstance(corpus, Mapping):
        text = count_text(corpus, options, run, progress)
        run.identity["text"] = fingerprint(corpus)
    elif isinstance(corpus, ShardedCorpus):
        counted = count_shards(corpus, options, progress)
        text = count_text(counted, options, run, progress)
        run.identity["text"] = combined(sorted(counted.digests))
    else:
        hashed = HashedCorpus(corpus)
        text = count_text(hashed.items, options, run, progress)
        run.identity["text"] = hashed.sha256()
    words = frequent_words(text.counts, options.min_word_count)
    letters = counts_by_letters(words, options.text_profile)
    return finish(options, run, text, words, ready_trees(source, letters, options, progress), progress)


def count_shards(corpus: ShardedCorpus, options: TrainOptions, progress: Progress) -> CountedCorpus:
    return corpus.count(options.text_profile, options.text_column, options.memory_limit, progress)


def train_neural(
    corpus: Any,
    options: TrainOptions,
    directory: str | os.PathLike[str] | None,
    resume: bool,
    force: bool,
    progress: Progress,
) -> Trained:
    """Train with trees learned from the text."""
    try:
        # For morphemes and pieces: better to miss it now than after counting.
        import tokenizers  # noqa: F401

        from treetok.pipeline.neural import NeuralTraining
    except ImportError as error:
        raise TreetokError(
            f"trees='neural' need {error.name}: {install_hint('train')}, or choose trees='counts' or those of"
            " a tokenizer, as trees='en'"
        ) from None
    budget = Budget(options.minutes)
    neural = NeuralTraining.prepare(options, budget, progress)
    options = neural.options
    items: Any
    if isinstance(corpus, ShardedCorpus):
        items = count_shards(corpus, options, progress)
        text_sha256 = combined(items.digests)
    else:
        items = to_be_read_twice(corpus, options.text_column)
        text_sha256 = fingerprint(items)
    identity = {
        "text": text_sha256,
        "profile": options.profile,
        "profile_version": options.profile_version,
        **({"normalizer": options.normalizer} if options.normalizer else {}),
        "seed": options.seed,
        **neural.identity(),
    }
    run = Run.open(directory, identity, resume, is_first_process(), force)
    with nullcontext() if "words" in run.records else neural.compiling_kernels():
        text = count_text(items, options, run, progress, neural.preset.max_words)
    budget.distinct_words = len(text.counts)
    words = frequent_words(text.counts, options.min_word_count)
    # Fail before hours of training rather than after.
    make_room(options, words)
    return finish(options, run, text, words, neural.train(text, run), progress)


def finish(
    options: TrainOptions,
    run: Run,
    text: CountedText,
    words: Mapping[str, int],
    trees: TreesOfText,
    progress: Progress,
) -> Trained:
    """Choose the vocabulary and assemble the tokenizer."""
    room = make_room(options, words)
    fewest_tokens = options.vocab == "compact"
    chosen = {
        "vocab_size": options.vocab_size,
        "special_tokens": room.specials,
        "min_word_count": options.min_word_count,
        "character_coverage": options.character_coverage,
        "vocab": options.vocab,
        "alignment": options.alignment,
        **{name: True for name in ("plain_names", "markers") if getattr(options, name)},
        "pruning_rate": options.pruning_rate,
    }

    def work() -> Made:
        vocabulary = choose_vocabulary(options, room, words, trees.scores, progress, trees.prior)
        figures: dict[str, Any] = {"tokens": len(vocabulary) + room.outside}
        if trees.unseen_words:
            in_text = options.text_profile.in_running_text
            strings = marked_strings(vocabulary, list(Marker)) if options.markers else {}
            segmenter = Segmenter(vocabulary, fewest_tokens, strings)
            alike = segmentation_agreement(trees.source, trees.scores, segmenter, trees.unseen_words, in_text)
            figures["parser_agreement_unseen"] = round(alike, 4)
        return {VOCABULARY_FILE: vocabulary}, figures

    inputs = {
        **chosen,
        "before": {name: record.sha256 for name, record in run.records.items() if name != "vocabulary"},
    }
    vocabulary = run.stage("vocabulary", inputs, {VOCABULARY_FILE: WORD_COUNTS}, work)[VOCABULARY_FILE]
    settings = {
        **trees.facts,
        "seed": options.seed,
        **{name: value for name, value in chosen.items() if name in SHOWN and value is not None},
        "words_in_corpus": sum(words.values()),
        "distinct_words": len(words),
        "dropped_words": text.figures["dropped_words"],
        **({"text_sha256": run.identity["text"]} if run.identity["text"] else {}),
        "stages": {name: run.records[name].figures for name in sorted(run.records)},
        "versions": versions(options),
    }
    state = TokenizerState(
        profile=options.profile,
        profile_version=options.text_profile.version,
        normalizer=options.normalizer,
        entries=in_order_of_ids(room.base, vocabulary),
        special_tokens=room.specials,
        lexicon=trees.lexicon,
        source=trees.source,
        fewest_tokens=fewest_tokens,
        settings=settings,
        roles=roles_of(options, room.specials),
    )
    return Trained(state, run.records, run.done_before)


# The vocabulary options that cannot be read off the tokenizer itself.
SHOWN = ("min_word_count", "character_coverage", "vocab", "alignment", "plain_names", "markers", "pruning_rate")


def versions(options: TrainOptions) -> dict[str, str]:
    found = {"treetok": __version__, "python": platform.python_version(), "numpy": np.__version__}
    if options.is_neural:
        found["torch"] = importlib.metadata.version("torch")
    return found
