"""The paper's Chinese column: do the trees of clauses have its words as spans?

Composition models with and without MorphOverriding, with complete and with pruned charts, and the neural PCFG are
trained on the stretches of Han characters of a text, each for --seconds. Some, without MorphOverriding, are
trained 3 to 15 times as long, in smaller batches and on shorter stretches, some of which are cut at weak links;
several of these are decoded together, too, once with a language model of pieces. Trees are scored by the words of
sentences (lines "sentence TAB words"), beside trivial trees. Then tokenizers: TreeTok models (--model) made by
`treetok train TEXT --profile lossless`, and baselines trained on the same text (--against). Choices are made on
--dev; the table is that of --test.

The scores of every model are kept beside --out and models in --folder, so that the command can be stopped and
repeated, and models can be added. Without a text, tables are made of the scores that are there.

python experiments/chinese.py zh.txt.xz --dev dev.tsv --test test.tsv --folder build/chinese \\
    --out results/chinese.json
python experiments/chinese.py zh.txt.xz --dev dev.tsv --test test.tsv --only none --model build/zh \\
    --against bpe,unigram --out results/chinese.json
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chinese_models import (
    MOST_STEPS,
    ChineseTraining,
    CompositionVariant,
    EnsembleVariant,
    GrammarVariant,
    Settings,
    Variant,
)
from chinese_tables import boundary_tables, notes_of, recall_tables
from composition_models import versions
from han_text import GoldSentence, SentenceFile, Span, read_sentences
from lineup_options import plain_parser
from model_scores import ModelScores, check_settings, finished_scores, load_scores, sha256_of
from neural_pcfg.grammar import GrammarConfig
from result_files import report_tables
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.baselines import DEFAULT_VOCAB_SIZE, TRAINABLE
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.lineup import build_lineup
from treetok.evaluate.load_tokenizer import load_tokenizers
from treetok.evaluate.texts import name_of
from treetok.evaluate.tree_sources import Balanced, LeftBranching, Random, RightBranching
from treetok.model.data.morpheme_vocabulary import MorphemeConfig
from treetok.model.data.piece_model import PieceConfig
from treetok.model.decoding import DecodingConfig
from treetok.model.device import chosen_device, computing_threads
from treetok.model.presets import PRESETS
from treetok.pipeline.count_words import fingerprint
from treetok.pipeline.run_directory import RUN
from treetok.progress import Progress
from treetok.sources import TreeSource, scores_of_words
from treetok.storage.atomic import checked_target
from treetok.tree import walk_spans
from word_boundaries import (
    boundaries_found,
    one_token_per_character,
    one_token_per_stretch,
    words_found,
    written_rows,
)

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "tests" / "data" / "chinese_sample.tsv"
QUICK: dict[str, Any] = {"seconds": 0.0, "steps": 4, "sequences": 2, "longest": 8, "vocab_size": 900}
QUICK_SAMPLE = {"morphemes": 600}
MOST_TIMES_IN_QUICK = 3


@dataclass(frozen=True)
class Recipe:
    """What a model is named for.

    times: how much longer than others it is trained.
    method, factor: of its morphemes, and what --morphemes is multiplied by. Without MorphOverriding, they are
        what the span loss predicts.
    longest, at_weak_links: of its stretches, if not --longest (`han_text.Cuts`).
    """

    chart: str
    morph_overriding: bool
    times: int = 1
    method: str = "bpe"
    factor: float = 1
    longest: int | None = None
    at_weak_links: bool = False


# Of models that are trained longer: steps are worth more than batches, and complete charts of up to 12 characters,
# which are longer than most words, take half the time of those of up to 20; of up to 8, a quarter.
SEQUENCES_OF_LONGER, STRETCHES_OF_LONGER, SHORT_STRETCHES = 48, 12, 8
# More than fit into the time of any model.
STEPS_OF_SHORT = 60_000
# Models with the same stretches follow each other, so that their substrings are tabulated once.
RECIPES = {
    "complete": Recipe("complete", True),
    "complete-no-overriding": Recipe("complete", False),
    "pruned": Recipe("pruned", True),
    "pruned-no-overriding": Recipe("pruned", False),
    "complete-no-overriding-longer": Recipe("complete", False, 15, longest=STRETCHES_OF_LONGER),
    "complete-no-overriding-unigram": Recipe("complete", False, 11, "unigram", 2, STRETCHES_OF_LONGER),
    "pruned-no-overriding-unigram": Recipe("pruned", False, 11, "unigram", 2, STRETCHES_OF_LONGER),
    "weak-links": Recipe("complete", False, 6, "bpe", 1, SHORT_STRETCHES, True),
    "weak-links-bpe-x3": Recipe("complete", False, 6, "bpe", 3, SHORT_STRETCHES, True),
    "weak-links-unigram-x2": Recipe("complete", False, 6, "unigram", 2, SHORT_STRETCHES, True),
    "weak-links-unigram-x4": Recipe("complete", False, 6, "unigram", 4, SHORT_STRETCHES, True),
    "pruned-weak-links": Recipe("pruned", False, 3, "bpe", 2, SHORT_STRETCHES, True),
    "pruned-weak-links-unigram": Recipe("pruned", False, 3, "unigram", 2, SHORT_STRETCHES, True),
    "longer-weak-links": Recipe("complete", False, 14, "bpe", 1, STRETCHES_OF_LONGER, True),
    "longer-weak-links-fewer": Recipe("complete", False, 14, "bpe", 0.6, STRETCHES_OF_LONGER, True),
    "longer-weak-links-fewer-unigram": Recipe("complete", False, 14, "unigram", 0.8, STRETCHES_OF_LONGER, True),
}
# Models that are decoded together.
AT_WEAK_LINKS = tuple(
    name for name, recipe in RECIPES.items() if recipe.at_weak_links and recipe.chart == "complete"
)
ENSEMBLES = {
    "no-overriding-ensemble": ("complete-no-overriding-unigram", "pruned-no-overriding-unigram"),
    "weak-links-ensemble": AT_WEAK_LINKS,
    "weak-links-pieces": AT_WEAK_LINKS,
}
# With a language model of pieces, and temperatures that were chosen on the development sentences. Counts are taken
# as they are: stretches are not words, and few are frequent. Most new words have two characters.
WITH_PIECES = ("weak-links-pieces",)
PIECES_FACTOR = 4
PIECES = PieceConfig(count_power=1.0, shortest_new_piece=2)
DECODING_WITH_PIECES = DecodingConfig(temperature=1.75, piece_temperature=1.5)
PCFG = "pcfg"
TREE_MODELS = (*RECIPES, *ENSEMBLES, PCFG)
# Complete charts of 80 x 64 stretches of up to 20 characters take about 80 GB of a GPU.
SEQUENCES = {"complete": 80, "pruned": 128}
# All but 0.02 % of the running characters of Chinese Wikipedia.
CHARACTERS = 6000
RANDOM_TREES, SEEDS_OF_RANDOM_TREES = "random", 10
TRIVIAL_TREES: dict[str, TreeSource] = {
    "left-branching": LeftBranching(),
    "right-branching": RightBranching(),
    "balanced": Balanced(),
}
TRIVIAL_TOKENS: dict[str, Callable[[GoldSentence], list[str]]] = {
    "characters": one_token_per_character,
    "stretches": one_token_per_stretch,
}
NO_DECODING = "-"
PROFILE = "lossless"

Gold = Mapping[str, SentenceFile]


def main() -> None:
    options = parsed_options()
    gold = {role: read_sentences(path) for role in ("test", "dev") if (path := getattr(options, role))}
    trees_folder = options.scores or options.out.parent / "chinese"
    tokens_folder = trees_folder / "tokenizers"
    if options.text and options.only:
        score_tree_models(options, gold, trees_folder)
    if gold:
        score_tokenizers(options, gold, tokens_folder)
    trees, tokens = load_scores(trees_folder), load_scores(tokens_folder)
    if not trees and not tokens:
        raise TreetokError("nothing has been scored yet: name a text to train on, and --dev and --test")
    tables = [*recall_tables(trees), *boundary_tables(tokens)]
    report_tables(options.out, "Words of Chinese (Table 3)", tables, notes_of(trees, tokens))


# ---- options


def parsed_options() -> argparse.Namespace:
    parser = plain_parser(__doc__)
    parser.add_argument("text", nargs="*", type=Path, help="text to train on")
    parser.add_argument("--dev", type=Path, help="sentences and their words, for choices")
    parser.add_argument("--test", type=Path, help="sentences and their words, for the table")
    parser.add_argument("--folder", type=Path, help="where checkpoints and models are kept")
    parser.add_argument("--scores", type=Path, help="where scores are kept (default: chinese beside --out)")
    parser.add_argument("--only", help=f"models to train, of {','.join(TREE_MODELS)}, or none (default: all)")
    parser.add_argument(
        "--seconds", type=float, default=80.0, help="of training a model (default: 80); 0: no limit"
    )
    parser.add_argument("--steps", type=int, default=0, help="of training, if fewer than fit into --seconds")
    parser.add_argument("--longest", type=int, default=20, help="cut longer stretches of the text (default: 20)")
    parser.add_argument(
        "--morphemes",
        type=int,
        default=20_000,
        help="with characters; some models have 0.6 to 4 times as many (default: 20000)",
    )
    parser.add_argument("--sequences", type=int, help=f"of a batch (default: by charts, {SEQUENCES})")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--model", action="append", default=[], help="a TreeTok tokenizer; may be repeated")
    parser.add_argument("--against", default="", help="baselines to train, as in bpe,unigram")
    parser.add_argument("--vocab-size", type=int, default=DEFAULT_VOCAB_SIZE, help="of the baselines")
    parser.add_argument("--quick", action="store_true", help="tiny models on sentences of the project, in seconds")
    options = parser.parse_args()
    if options.folder is not None:
        checked_target(options.folder, (), RUN)
    if options.quick:
        # Options that are given count for more.
        parser.set_defaults(**QUICK, **({} if options.text else QUICK_SAMPLE))
        options = parser.parse_args()
        use_sample(options)
    names = list(TREE_MODELS) if options.only is None else options.only.split(",")
    options.only = [] if names == ["none"] else names
    for name in options.only:
        if name not in TREE_MODELS:
            raise TreetokError(f"unknown model {name!r} in --only: choose {', '.join(TREE_MODELS)}, or none")
    if options.sequences is not None and options.sequences < 1:
        raise TreetokError(f"--sequences must be at least 1, not {options.sequences}")
    if options.text and options.only and options.folder is None:
        raise TreetokError("models are kept in a folder while they are trained: --folder FOLDER")
    if options.dev and options.test and name_of(options.dev) == name_of(options.test):
        raise TreetokError("--dev and --test have the same name, by which they are told apart")
    for name in filter(None, options.against.split(",")):
        if name not in TRAINABLE:
            raise TreetokError(f"unknown baseline {name!r} in --against: choose {', '.join(TRAINABLE)}")
    if options.against and not options.text:
        raise TreetokError("baselines need a text to be trained on")
    if (options.text or options.model) and not (options.dev or options.test):
        raise TreetokError("models are scored on sentences: --dev FILE, --test FILE")
    return options


def use_sample(options: argparse.Namespace) -> None:
    """The sentences of the project as text and gold."""
    options.test = options.test or SAMPLE
    if not options.text:
        if options.folder is None:
            raise TreetokError("--quick needs a folder, too: --folder FOLDER")
        options.folder.mkdir(parents=True, exist_ok=True)
        text = options.folder / "sample.txt"
        text.write_text("\n".join(s.text for s in read_sentences(SAMPLE).sentences) + "\n", encoding="utf-8")
        options.text = [text]


# ---- trees


def variants_of(options: argparse.Namespace) -> dict[str, Variant]:
    preset = PRESETS["tiny" if options.quick else "fast"]
    models = {
        name: CompositionVariant(
            recipe.chart,
            recipe.morph_overriding,
            options.sequences or (SEQUENCES[recipe.chart] if recipe.times == 1 else SEQUENCES_OF_LONGER),
            preset,
            MorphemeConfig(recipe.method, round(recipe.factor * options.morphemes), max_characters=CHARACTERS),
            min(recipe.times, MOST_TIMES_IN_QUICK) if options.quick else recipe.times,
            recipe.longest,
            recipe.at_weak_links,
            STEPS_OF_SHORT if recipe.longest == SHORT_STRETCHES else MOST_STEPS,
        )
        for name, recipe in RECIPES.items()
    }
    ensembles = {
        name: EnsembleVariant({member: models[member] for member in members})
        for name, members in ENSEMBLES.items()
    }
    pieces = dataclasses.replace(PIECES, size=PIECES_FACTOR * options.morphemes)
    for name in WITH_PIECES:
        ensembles[name] = dataclasses.replace(ensembles[name], pieces=pieces, decoding=DECODING_WITH_PIECES)
    grammar = GrammarVariant(GrammarConfig(8, 16, 16, 32), 64) if options.quick else GrammarVariant()
    return {**models, **ensembles, PCFG: grammar}


def score_tree_models(options: argparse.Namespace, gold: Gold, folder: Path) -> None:
    """Train and score the models that have no scores yet, and score trivial trees."""
    settings = Settings(options.longest, options.seconds, options.steps, options.seed)
    text_sha256 = fingerprint(options.text)
    shared = {"text": text_sha256, **asdict(settings)}
    check_settings(folder, shared)
    files = list(gold.values())
    training = None
    for name, variant in variants_of(options).items():
        own_settings = variant.own_settings(settings)
        if name not in options.only or finished_scores(folder, name, settings.seed, shared, own_settings, files):
            continue
        device = chosen_device(options.device)
        training = training or ChineseTraining(options.text, text_sha256, settings, options.folder, device)
        began = time.monotonic()
        trained = training.train(name, variant)
        prepared_and_trained, began = time.monotonic() - began, time.monotonic()
        with computing_threads(device, None):
            entries = tree_entries(gold, {decoding: [source] for decoding, source in trained.trees.items()})
        decoded = time.monotonic() - began
        figures = {**trained.figures, "seconds_of_decoding": round(decoded, 1)}
        ModelScores(name, settings.seed, shared, own_settings, figures, versions(), entries).save(folder)
        # The members of an ensemble count for themselves.
        in_training = trained.figures.get("seconds", 0.0)
        print(
            f"{name}: {in_training:.0f} s of training, {decoded:.0f} s of decoding and scoring,"
            f" {max(0, prepared_and_trained - in_training):.0f} s of all else, on {trained.figures['device']}",
            flush=True,
        )
    seeds = range(SEEDS_OF_RANDOM_TREES)
    trivial: dict[str, list[TreeSource]] = {name: [source] for name, source in TRIVIAL_TREES.items()}
    trivial[RANDOM_TREES] = [Random(seed) for seed in seeds]
    for name, sources in trivial.items():
        entries = tree_entries(gold, {NO_DECODING: sources})
        ModelScores(name, settings.seed, shared, {}, {}, versions(), entries).save(folder)


def tree_entries(gold: Gold, sources: Mapping[str, Sequence[TreeSource]]) -> dict[str, Any]:
    """What a file of scores says of each gold file: rows of `words_found` by decoding and convention, each of them
    the mean over several sources."""
    stretches = list(dict.fromkeys(stretch for file in gold.values() for stretch in file.stretches))
    spans = {decoding: [spans_of_trees(s, stretches) for s in several] for decoding, several in sources.items()}
    return {
        name_of(file.path): {
            **facts_of(role, file),
            "rows": {
                decoding: mean_rows([words_found(file.sentences, of_one) for of_one in several])
                for decoding, several in spans.items()
            },
        }
        for role, file in gold.items()
    }


def spans_of_trees(source: TreeSource, stretches: Iterable[str]) -> dict[str, frozenset[Span]]:
    spans = {stretch: frozenset([(0, 1)]) for stretch in stretches if len(stretch) == 1}
    scores = scores_of_words(source, [stretch for stretch in stretches if len(stretch) > 1])
    return spans | {
        stretch: frozenset((start, end) for start, end, _ in walk_spans(of_one))
        for stretch, of_one in scores.items()
    }


def mean_rows(several: Sequence[Mapping[str, Sequence[Sequence[int]]]]) -> dict[str, str]:
    return {kind: written_rows(np.mean([rows[kind] for rows in several], axis=0).tolist()) for kind in several[0]}


def facts_of(role: str, file: SentenceFile) -> dict[str, Any]:
    return {
        "sha256": sha256_of(file),
        "role": role,
        "sentences": len(file.sentences),
        "characters": sum(len(sentence.text) for sentence in file.sentences),
        "words": sum(len(sentence.words) for sentence in file.sentences),
    }


# ---- tokenizers


def score_tokenizers(options: argparse.Namespace, gold: Gold, folder: Path) -> None:
    """Score the models, baselines that have no scores yet, and trivial segmentations."""
    files = list(gold.values())
    for name, tokens in TRIVIAL_TOKENS.items():
        save_tokens(folder, name, {}, token_entries(gold, tokens))
    for model in load_tokenizers(options.model):
        own = {"tokenizer": model.tokenizer.state.sha256} if isinstance(model, NamedTreeTokenizer) else {}
        save_tokenizer(folder, model.name, own, gold, model)
    wanted = [name for name in options.against.split(",") if name]
    if not wanted:
        return
    text_sha256 = fingerprint(options.text)
    settings = {
        name: {"baseline": name, "text": text_sha256, "entries": options.vocab_size, "profile": PROFILE}
        for name in wanted
    }
    missing = [name for name in wanted if finished_scores(folder, name, 0, {}, settings[name], files) is None]
    if missing:
        baselines = build_lineup(
            [], missing, options.text, vocab_size=options.vocab_size, profile=PROFILE, progress=Progress(True)
        ).baselines
        for name, baseline in zip(missing, baselines, strict=True):
            save_tokenizer(folder, name, settings[name], gold, baseline)


def save_tokenizer(
    folder: Path, name: str, own_settings: dict[str, Any], gold: Gold, tokenizer: EvalTokenizer
) -> None:
    entries = token_entries(gold, tokens_by(tokenizer))
    for file in gold.values():
        # A piece may be several tokens: the bytes of a character.
        tokens = sum(len(tokenizer.tokenize(sentence.text)) for sentence in file.sentences)
        entries[name_of(file.path)]["tokens"] = tokens
    save_tokens(folder, name, own_settings, entries, tokenizer.vocabulary_size)


def save_tokens(
    folder: Path, name: str, own_settings: dict[str, Any], gold: dict[str, Any], vocabulary_size: int | None = None
) -> None:
    ModelScores(name, 0, {}, own_settings, {"entries": vocabulary_size}, versions(), gold).save(folder)


def tokens_by(tokenizer: EvalTokenizer) -> Callable[[GoldSentence], list[str]]:
    """Segments sentences as they stand at the beginning of a line, not after a space, as words would."""

    def tokens(sentence: GoldSentence) -> list[str]:
        line_feed, *pieces = tokenizer.segment("\n" + sentence.text)
        if line_feed != "\n":
            raise TreetokError(f"{tokenizer.name} does not keep line feeds: it should be of the profile {PROFILE}")
        return pieces

    return tokens


def token_entries(gold: Gold, tokens_of: Callable[[GoldSentence], list[str]]) -> dict[str, Any]:
    """What a file of scores says of each gold file: rows of `boundaries_found` by kind of position."""
    entries = {}
    for role, file in gold.items():
        tokens = [tokens_of(sentence) for sentence in file.sentences]
        rows = boundaries_found(file.sentences, tokens)
        entries[name_of(file.path)] = {
            **facts_of(role, file),
            "tokens": sum(map(len, tokens)),
            "rows": {positions: written_rows(of_kind) for positions, of_kind in rows.items()},
        }
    return entries


if __name__ == "__main__":
    run(main)
