"""Single composition models that differ from each other in one thing, trained by the stages of `treetok train` and
scored on gold segmentations (`model_scores.py`). For `ablations.py` and `morpheme_sizes.py`.

All models of an experiment are trained on the same text in the same batches. The text is counted once, and a
morpheme vocabulary that several models share is found once. A model whose scores are there is not trained again;
one whose training was stopped goes on from its checkpoint in --folder.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from lineup_options import folder_name
from model_scores import (
    GREEDY_TREES,
    MBR_TREES,
    ModelScores,
    check_gold,
    check_settings,
    file_name,
    finished_scores,
    recalls_of_gold,
)
from treetok.errors import TreetokError
from treetok.evaluate.gold import GoldFile, read_gold
from treetok.evaluate.metrics.tree_recall import Span
from treetok.evaluate.texts import name_of
from treetok.evaluate.tree_sources import OverStrings
from treetok.model.config import ModelConfig
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, MorphemeVocabulary, find_morphemes
from treetok.model.data.piece_model import PieceConfig
from treetok.model.decoding import GREEDY, CompositionTrees, DecodingConfig, PrunedTrees
from treetok.model.device import computing_threads, free_memory
from treetok.model.ensemble import EnsembleMember
from treetok.model.losses.objectives import TreeLearner
from treetok.model.presets import PRESETS, Preset
from treetok.model.training.build_trainer import ChartText, chart_words
from treetok.pipeline.ahead import Ahead
from treetok.pipeline.count_words import IDS, WORDS, CountedText, count_text, fingerprint
from treetok.pipeline.ensemble import EnsembleTraining, member_file
from treetok.pipeline.find_pieces import piece_model
from treetok.pipeline.neural import NeuralTraining
from treetok.pipeline.options import TrainOptions
from treetok.pipeline.overrides import parse_setting
from treetok.pipeline.run_directory import RUN, Run
from treetok.pipeline.time_budget import Budget
from treetok.progress import Progress, Stopped
from treetok.sources import TreeSource, scores_of_words
from treetok.tree import walk_spans
from treetok.version import __version__

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINT_SECONDS = 30.0
NO_PIECES = PieceConfig(0)


@dataclass(frozen=True)
class Variant:
    """What sets a model apart.

    objective: switches of `ObjectiveConfig`.
    morphemes: None for those of the preset's first model.
    """

    name: str
    objective: Mapping[str, bool] = field(default_factory=dict)
    morphemes: MorphemeConfig | None = None
    learner_class: type[TreeLearner] = TreeLearner

    def preset(self, preset: Preset) -> Preset:
        """The preset of one such model, without what it takes to make a tokenizer of it."""
        objective = dataclasses.replace(preset.model.objective, **self.objective)
        return dataclasses.replace(
            preset,
            model=dataclasses.replace(preset.model, objective=objective),
            ensemble=(self.morphemes or preset.ensemble[0],),
            pieces=NO_PIECES,
        )

    def settings(self, preset: Preset) -> dict[str, Any]:
        own = self.preset(preset)
        return {
            "objective": dataclasses.asdict(own.model.objective),
            "morphemes": dataclasses.asdict(own.ensemble[0]),
            "learner": self.learner_class.__name__,
        }


# ---- options


def add_training_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", nargs="*", type=Path, help="text to train on; without it, tables are made of what is there"
    )
    parser.add_argument("--gold", action="append", default=[], help="a gold file; may be repeated")
    parser.add_argument("--folder", type=folder_name, help="where words, checkpoints and models are kept")
    parser.add_argument(
        "--scores",
        type=folder_name,
        help="where the scores of models are kept (default: composition_models beside --out)",
    )
    parser.add_argument("--seeds", type=int, default=1, help="models of each kind (default: 1)")
    parser.add_argument("--preset", choices=list(PRESETS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the preset")
    parser.add_argument("--profile", default="uncased")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--title", help="title of the section in the document, instead of the default")
    parser.add_argument(
        "--quick", action="store_true", help="tiny models on the text of the project: to see that it runs"
    )


def scores_folder(options: argparse.Namespace) -> Path:
    folder: Path = options.scores or options.out.parent / "composition_models"
    return folder


def quick_preset() -> Preset:
    """Settings that take seconds on a CPU."""
    tiny = PRESETS["tiny"]
    return dataclasses.replace(
        tiny,
        training=dataclasses.replace(tiny.training, steps=4, sequences=2, words_per_sequence=16, warmup_steps=1),
        ensemble=(MorphemeConfig("bpe", 200), MorphemeConfig("unigram", 200)),
        pieces=PieceConfig(300),
    )


# ---- training


class Experiment:
    """The text, the gold files and the settings that all models share."""

    def __init__(self, options: argparse.Namespace) -> None:
        if options.seeds < 1:
            raise TreetokError(f"--seeds must be at least 1, not {options.seeds}")
        text, gold, preset = options.text, options.gold, options.preset
        if options.quick:
            if preset is not None:
                raise TreetokError("--quick has settings of its own: leave out --preset")
            text = text or sorted((ROOT / "sample_text").glob("*.txt"))
            gold = gold or [ROOT / "tests" / "data" / "gold_sample.tsv"]
            preset = quick_preset()
        if not gold:
            raise TreetokError("models are scored on gold files: --gold FILE")
        self.gold: list[GoldFile] = [read_gold(path) for path in gold]
        self.seeds: int = options.seeds
        self.folder: Path | None = options.folder
        self.scores_folder = scores_folder(options)
        self.progress = Progress(True)
        self.train_options = TrainOptions(
            profile=options.profile,
            preset=preset,
            device=options.device,
            settings=dict(map(parse_setting, options.set)),
            checkpoint_seconds=CHECKPOINT_SECONDS,
        )
        self.neural = NeuralTraining.prepare(self.train_options, Budget(), self.progress)
        self.preset, self.device = self.neural.preset, self.neural.device
        self.text_files = text
        self._vocabularies: dict[MorphemeConfig, Ahead[MorphemeVocabulary]] = {}
        self._members: dict[tuple[str, int], EnsembleMember] = {}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What all models have in common."""
        described = dataclasses.asdict(self.preset)
        model, training = described["model"], described["training"]
        del model["objective"], training["seed"]
        return {
            "preset": self.neural.preset_name,
            "text": fingerprint(self.text_files),
            "profile": [self.train_options.profile, self.train_options.profile_version],
            "model": model,
            "training": training,
            "limits": {name: described[name] for name in ("max_epochs", "max_words")},
        }

    @cached_property
    def text_run(self) -> Run:
        folder = self.folder and self.folder / "text"
        identity = {name: self.settings[name] for name in ("text", "profile", "limits")}
        return Run.open(folder, identity, resume=False, force=folder is not None)

    @cached_property
    def counted(self) -> CountedText:
        with nullcontext() if "words" in self.text_run.records else self.neural.compiling_kernels():
            most = self.preset.max_words
            return count_text(self.text_files, self.train_options, self.text_run, self.progress, most)

    @cached_property
    def chart_text(self) -> ChartText:
        return ChartText.of(self.counted.sequence(), self.preset.model)

    @property
    def text_inputs(self) -> dict[str, str]:
        return {"words": self.counted.sha256[WORDS], "word_ids": self.counted.sha256[IDS]}

    def vocabulary(self, config: MorphemeConfig) -> Ahead[MorphemeVocabulary]:
        """A morpheme vocabulary, found in the background the first time it is asked for."""
        if config not in self._vocabularies:
            counts = chart_words(self.chart_text.sequence, self.preset.model)
            self._vocabularies[config] = Ahead(lambda: find_morphemes(counts, config))
        return self._vocabularies[config]

    def train_missing(self, variants: Iterable[Variant]) -> None:
        """Train and score the models that have no scores yet: seed by seed, so that all variants have as many
        models if time runs out."""
        variants = list(variants)
        for variant in variants:
            if variant.learner_class is not TreeLearner and self.preset.model.chart != "complete":
                raise TreetokError(f"{variant.name} is trained with complete charts only: leave it out by --only")
        missing = [
            (variant, seed)
            for seed in range(self.seeds)
            for variant in variants
            if self._finished(variant.name, seed, variant.settings(self.preset)) is None
        ]
        check_settings(self.scores_folder, self.settings)
        check_gold(self.scores_folder, self.gold)
        upcoming = [variant.preset(self.preset).ensemble[0] for variant, _ in missing[1:]]
        for number, (variant, seed) in enumerate(missing):
            self.vocabulary(variant.preset(self.preset).ensemble[0])
            for config in upcoming[number : number + 1]:
                self.vocabulary(config)
            try:
                scores = self._train(variant, seed)
            except Stopped as error:
                kept = (
                    "the same command continues from there"
                    if self.folder
                    else "nothing was kept, without --folder"
                )
                raise TreetokError(f"{variant.name}, seed {seed}: {error}; {kept}") from None
            scores.save(self.scores_folder)
            print(f"{variant.name}, seed {seed}: trained in {scores.training['seconds']:.0f} s", flush=True)

    def _finished(self, name: str, seed: int, own_settings: Mapping[str, Any]) -> ModelScores | None:
        return finished_scores(self.scores_folder, name, seed, self.settings, own_settings, self.gold)

    def _train(self, variant: Variant, seed: int) -> ModelScores:
        words_in_text = len(self.chart_text.sequence.numbers)
        preset = variant.preset(self.preset).for_text(words_in_text, seed)
        own_settings = variant.settings(self.preset)
        identity = {"settings": self.settings, "own_settings": own_settings, "seed": seed}
        folder = self._model_folder(variant.name, seed)
        run = continued_run(folder, identity)
        training = EnsembleTraining(
            preset,
            self.device,
            lambda: self.chart_text,
            self.text_inputs,
            run,
            Budget(members=1),
            self.progress,
            no_trees,
            checkpoint_seconds=CHECKPOINT_SECONDS,
            learner_class=variant.learner_class,
            ahead={0: self.vocabulary(preset.ensemble[0])},
        )
        with computing_threads(self.device, None):
            (member,), _ = training.train_all()
            self._members[variant.name, seed] = member
            gold = self._scored(single_model_trees(member, self.device, preset.model))
        record = run.records["member-1"]
        figures = {
            **record.figures,
            "morphemes": len(member.morphemes),
            "words_seen": record.figures["steps"] * preset.training.sequences * preset.training.words_per_sequence,
            "words_in_text": words_in_text,
            "seconds": record.seconds,
            "device": device_name(self.device),
        }
        return ModelScores(variant.name, seed, self.settings, own_settings, figures, versions(), gold)

    def score_ensembles(self, name: str, members: Sequence[str]) -> None:
        """Score models of the same seed, decoded together and with the preset's pieces, where they are at hand."""
        own_settings = {"members": list(members), "pieces": dataclasses.asdict(self.preset.pieces)}
        for seed in range(self.seeds):
            if self._finished(name, seed, own_settings) is not None:
                continue
            found = [self._member(member, seed) for member in members]
            if None in found:
                print(f"{name}, seed {seed}: left out, since not all of its models are in --folder")
                continue
            began = time.monotonic()
            pieces, _ = piece_model(
                self.preset, self.counted.sequence, self.text_inputs, self.text_run, self.progress
            )
            with computing_threads(self.device, None):
                source = CompositionTrees([member for member in found if member], self.device, pieces=pieces)
                gold = self._scored({MBR_TREES: source})
            seconds = round(time.monotonic() - began, 1)
            figures = {"seconds": seconds, "device": device_name(self.device)}
            ModelScores(name, seed, self.settings, own_settings, figures, versions(), gold).save(
                self.scores_folder
            )
            print(f"{name}, seed {seed}: pieces and trees in {seconds:.0f} s", flush=True)

    def _model_folder(self, name: str, seed: int) -> Path | None:
        return self.folder and self.folder / file_name(name, seed).removesuffix(".json")

    def _member(self, name: str, seed: int) -> EnsembleMember | None:
        """A model trained now or earlier."""
        if (name, seed) in self._members:
            return self._members[name, seed]
        folder = self._model_folder(name, seed)
        if folder is None or not (folder / member_file(0)).exists():
            return None
        return EnsembleMember.load(folder / member_file(0), self.device)

    def _scored(self, sources: Mapping[str, TreeSource]) -> dict[str, Any]:
        """The recalls on all gold files, by their names; the words of all files are decoded together."""
        words = list(dict.fromkeys(gold_word.word for gold in self.gold for gold_word in gold))
        profile = self.train_options.text_profile
        spans: dict[str, dict[str, list[Span]]] = {}
        for decoding, source in sources.items():
            scores = scores_of_words(OverStrings(source, profile), words)
            spans[decoding] = {
                word: [(start, end) for start, end, _ in walk_spans(scores[word])] for word in words
            }
        free_memory(self.device)
        return {
            name_of(gold.path): recalls_of_gold(
                gold, {decoding: [of_word[g.word] for g in gold] for decoding, of_word in spans.items()}
            )
            for gold in self.gold
        }


def continued_run(folder: Path | None, identity: Mapping[str, Any]) -> Run:
    """The run of a model in a folder, or a new one. An error if it is of another training: nothing is lost."""
    return Run.open(folder, identity, resume=folder is not None and (folder / RUN).exists())


def no_trees(*arguments: Any) -> Mapping[str, Sequence[float]]:
    raise TreetokError("single models take no morphemes from the trees of others")


def single_model_trees(member: EnsembleMember, device: str, model: ModelConfig) -> dict[str, TreeSource]:
    """Trees read off one model in the paper's way, from charts as in training, and in ours, from complete ones."""
    overriding = model.objective.morph_overriding
    in_paper: TreeSource = CompositionTrees([member], device, overriding, GREEDY)
    if model.chart == "pruned":
        in_paper = PrunedTrees(member, model.window, device, overriding)
    return {
        GREEDY_TREES: in_paper,
        MBR_TREES: CompositionTrees([member], device, overriding, DecodingConfig()),
    }


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"


def versions() -> dict[str, str]:
    return {"treetok": __version__, "torch": torch.__version__}
