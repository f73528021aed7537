"""The stages of neural training in order: pieces, morphemes and members of the ensemble, trees, parser (unless
that of the model is kept), lexicon."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from treetok.corpus.counts_by_letters import counts_by_letters
from treetok.corpus.word_ids import WordSequence
from treetok.errors import TreetokError, TreetokWarning
from treetok.model.config import ModelConfig
from treetok.model.data.piece_model import PieceModel
from treetok.model.device import chosen_device, computing_threads
from treetok.model.ensemble import EnsembleMember
from treetok.model.presets import PRESETS, Preset, default_preset, preset_named
from treetok.model.training.build_trainer import ChartText, chart_words, check_corpus
from treetok.model.training.data_parallel import joined_processes
from treetok.pipeline.ahead import Ahead
from treetok.pipeline.artefacts import TREES
from treetok.pipeline.count_words import IDS, LEXICON_WORDS, WORDS, CountedText
from treetok.pipeline.decode_trees import TREES_FILE, TreeDecoding, decode_all, decode_text
from treetok.pipeline.distil_parser import distil_parser
from treetok.pipeline.ensemble import EnsembleTraining
from treetok.pipeline.find_pieces import piece_model
from treetok.pipeline.gold_watch import GoldWatch
from treetok.pipeline.options import TrainOptions
from treetok.pipeline.overrides import flat_settings, override, read_config
from treetok.pipeline.ready_trees import TreesOfText
from treetok.pipeline.run_directory import Artefacts, Made, Run
from treetok.pipeline.time_budget import Budget
from treetok.pipeline.vocabulary import Scores, lexicon_of, most_frequent, without_redundant_words
from treetok.progress import Progress
from treetok.sources import scores_of_words
from treetok.sources.parser import ParserTrees
from treetok.sources.tree_agreement import SHORTEST_WORD
from treetok.torchrun import is_started_by_torchrun

FEWEST_WORDS = 3
LEXICON_FILE = "lexicon.safetensors"
# Words of a batch times dimensions.
LARGEST_ON_CPU = 400_000


@dataclass(frozen=True)
class NeuralTraining:
    """Neural training with a preset, its overrides and a device."""

    options: TrainOptions
    preset: Preset
    preset_name: str
    device: str
    budget: Budget
    progress: Progress
    watch: GoldWatch | None

    @classmethod
    def prepare(cls, options: TrainOptions, budget: Budget, progress: Progress) -> NeuralTraining:
        """Check everything that can be checked before any text is read."""
        device = chosen_device(options.device)
        preset = chosen_preset(options, device)
        warn_of_large_batches(preset, device)
        options = options.with_vocab(preset.vocab)
        watch = GoldWatch.read(options.gold, options.text_profile, progress.show)
        return cls(options, preset, name_of_preset(options.preset, device), device, budget, progress, watch)

    def identity(self) -> dict[str, Any]:
        """What the members of the ensemble depend on, apart from the text."""
        described = dataclasses.asdict(self.preset)
        names = ("model", "training", "ensemble", "max_epochs", "max_words")
        return {"preset": self.preset_name, **{name: described[name] for name in names}}

    @contextmanager
    def compiling_kernels(self) -> Iterator[None]:
        """Compile GPU kernels, if any are used, while something else is done. One of several processes does not
        yet know its GPU, and compiles them when it needs them."""
        kernels = None
        if self.device == "cuda" and self.preset.model.chart == "complete" and not is_started_by_torchrun():
            # PyTorch comes without Triton on some systems.
            with suppress(ImportError):
                from treetok.model.precompile import precompile_kernels

                kernels = Ahead(lambda: precompile_kernels(self.preset, self.device))
        try:
            yield
        finally:
            # Even after an error: a thread that compiles while Python shuts down can abort the process. Kernels
            # that cannot be compiled fail where they are used.
            if kernels is not None:
                kernels.wait()

    def train(self, text: CountedText, run: Run) -> TreesOfText:
        """The trees of all words of the text, and the parser."""
        options, budget = self.options, self.budget
        profile = options.text_profile
        letters = counts_by_letters(text.counts, profile)
        counts = Counter(letters) + Counter(counts_by_letters(text.lexicon_counts, profile))
        in_text = {"words": text.sha256[WORDS], "word_ids": text.sha256[IDS]}
        with joined_processes(self.device) as device, computing_threads(device, options.threads):
            preset = self._for_text(text)
            budget.members, budget.is_distilled = len(preset.ensemble), preset.keeps_joint_parser
            pieces, sha256_of_pieces = piece_model(preset, text.sequence, in_text, run, self.progress)
            decoding = TreeDecoding(preset, device, run, self.progress, options.checkpoint_seconds, pieces)
            self.progress.seconds_after = lambda seconds: budget.after_stage(run.current, seconds)

            def decode(stage: str, members: Sequence[EnsembleMember], sha256: dict[str, str]) -> Scores:
                inputs = {**in_text, "members": sha256, **sha256_of_pieces}
                return decode_text(decoding, stage, members, inputs, letters)

            training = EnsembleTraining(
                preset,
                device,
                lambda: ChartText.of(text.sequence(), preset.model),
                in_text,
                run,
                budget,
                self.progress,
                decode,
                self.watch,
                options.checkpoint_seconds,
                pieces,
            )
            members, sha256 = training.train_all()
            inputs = {
                **in_text,
                "lexicon_words": text.sha256[LEXICON_WORDS],
                "members": sha256,
                **sha256_of_pieces,
            }
            decoded = decode_all(decoding, members, inputs, counts, options.seed, budget)
            if self.watch is not None and "trees" not in run.done_before:
                self.watch.recalls(preset.trees(members, device, pieces), f"ensemble of {len(members)}")
            parser, unseen = self._parser(preset, device, run, decoded, counts, members, pieces)
        scores: dict[str, Sequence[float]] = dict(decoded[TREES_FILE])
        scores |= scores_of_words(parser, sorted(word for word in letters if word not in scores))
        kept = self._lexicon(run, decoded.sha256, scores, counts, parser)
        facts = {
            "trees": "neural",
            "preset": self.preset_name,
            **({"overrides": overrides} if (overrides := overrides_of(options)) else {}),
            **({"parser": "joint"} if preset.keeps_joint_parser else {"unseen_words": len(unseen)}),
        }
        return TreesOfText(scores, parser, lexicon_of(kept, kept), facts, tuple(unseen))

    def _parser(
        self,
        preset: Preset,
        device: str,
        run: Run,
        decoded: Artefacts,
        counts: Counter[str],
        members: Sequence[EnsembleMember],
        pieces: PieceModel | None,
    ) -> tuple[ParserTrees, list[str]]:
        """The parser for words without stored trees, and the words held out from its training: the parser that was
        trained with the model, or the stage `parser`."""
        if not preset.keeps_joint_parser:
            seconds = self.options.checkpoint_seconds
            return distil_parser(
                preset, device, run, decoded, counts, members, self.budget, self.progress, seconds, pieces
            )
        # There is one if an earlier run had other settings.
        run.records.pop("parser", None)
        joint = members[0].parser
        assert joint is not None
        return joint, []

    def _for_text(self, text: CountedText) -> Preset:
        """The preset with the seed set, and with fewer steps if the text is small."""
        sequence = text.sequence()
        check_corpus(sequence, self.preset.model)
        check_words(sequence, self.preset.model)
        return self.preset.for_text(len(sequence.numbers), self.options.seed)

    def _threads(self) -> int:
        """The threads of work whose result does not depend on them: by default one on a CPU, all beside a GPU."""
        if self.options.threads is not None:
            return self.options.threads
        return os.cpu_count() or 1 if self.device.startswith("cuda") else 1

    def _lexicon(
        self, run: Run, sha256: Mapping[str, str], scores: Scores, counts: Counter[str], parser: ParserTrees
    ) -> dict[str, Sequence[float]]:
        """The stage `lexicon`: the words whose trees are stored with the tokenizer."""
        size = self.options.lexicon_size
        assert size is not None
        of_parser = run.records.get("parser") or run.records["member-1"]
        inputs = {**sha256, "parser": of_parser.sha256, "size": size}

        def work() -> Made:
            words = [word for word in most_frequent(counts, size) if word in scores and len(word) > 1]
            with self.progress.stage("thinning out the lexicon", None, "words") as shown:
                words = without_redundant_words(words, scores, counts, parser, self._threads())
                shown.at(len(words))
            return {LEXICON_FILE: {word: scores[word] for word in words}}, {"words": len(words)}

        kept: dict[str, Sequence[float]] = run.stage("lexicon", inputs, {LEXICON_FILE: TREES}, work)[LEXICON_FILE]
        return kept


def warn_of_large_batches(preset: Preset, device: str) -> None:
    """A preset for a GPU may ask for more time and memory than a CPU has."""
    words = preset.training.sequences * preset.training.words_per_sequence
    if device == "cpu" and words * preset.model.composition.dimension > LARGEST_ON_CPU:
        warnings.warn(
            f"batches of {words} words are for a GPU: here a step may take minutes and tens of gigabytes; choose"
            " --preset tiny, or smaller batches (--set training.sequences=16)",
            TreetokWarning,
            stacklevel=5,
        )


def chosen_preset(options: TrainOptions, device: str) -> Preset:
    """The preset, overridden by the settings of the TOML file, then by those given one by one."""
    preset = options.preset if isinstance(options.preset, Preset) else preset_named(options.preset, device)
    overrides = overrides_of(options)
    settings = {setting.name for setting in dataclasses.fields(Preset)}
    for key in sorted(({option.name for option in dataclasses.fields(options)} - settings) & overrides.keys()):
        raise TreetokError(f"{key!r} is not a setting of a preset but an option: --{key.replace('_', '-')}")
    preset = override(preset, overrides)
    warn_of_settings_without_effect(preset, overrides)
    return preset


def warn_of_settings_without_effect(preset: Preset, overrides: Iterable[str]) -> None:
    """Settings that are given, but of something that other settings leave out."""
    given = set(overrides)
    of_pieces = {name for name in given if name.startswith("pieces.")} - {"pieces.size"}
    why_not: list[tuple[set[str], str]] = []
    if not preset.pieces.size:
        reason = "pieces.size is 0, so that there is no language model of pieces"
        why_not.append(({*of_pieces, "decoding.piece_temperature"}, reason))
    elif not preset.pieces.new_pieces:
        why_not.append(({"pieces.shortest_new_piece"}, "pieces.new_pieces is 0, so that no piece is new"))
    if not preset.decoding.mbr:
        why_not.append(({"decoding.temperature"}, "decoding.mbr is false, and the best split is the same"))
    for names, reason in why_not:
        if without_effect := sorted(given & names):
            message = f"without effect: {', '.join(without_effect)}; {reason}"
            warnings.warn(message, TreetokWarning, stacklevel=5)


def overrides_of(options: TrainOptions) -> dict[str, Any]:
    """The settings of the TOML file, overridden by those given one by one."""
    from_file = {} if options.config is None else flat_settings(read_config(options.config))
    return from_file | flat_settings(options.settings)


def name_of_preset(preset: Any, device: str) -> str:
    if isinstance(preset, Preset):
        return next((name for name, known in PRESETS.items() if known == preset), "custom")
    return default_preset(device) if preset is None else str(preset)


def check_words(sequence: WordSequence, model: ModelConfig) -> None:
    """Raise an error if too few words are long enough to learn trees from."""
    words = [word for word in chart_words(sequence, model) if len(word) >= SHORTEST_WORD]
    if len(words) < FEWEST_WORDS:
        raise TreetokError(
            f"the text has {len(words)} words of {SHORTEST_WORD} letters or more: too few to learn trees from;"
            " choose trees from counts"
        )
