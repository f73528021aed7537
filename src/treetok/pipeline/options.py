"""All training options, in one frozen object that is validated when it is created."""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treetok.corpus.counting import DEFAULT_MEMORY_LIMIT
from treetok.errors import TreetokError, share, whole_number
from treetok.sources import TreeSource
from treetok.text import Profile, profile_named
from treetok.tokenizer_state import TokenizerState
from treetok.vocabulary import DEFAULT_METHOD, DEFAULT_PRUNING_RATE, check_choice

MAX_SEED = (1 << 62) - 1
MAX_PRIOR = 10**12
# More are never faster for matrices of this size, and the system may refuse to start them.
MAX_THREADS = 256
# Trees from counts can be recomputed; the trees of the composition models are kept only in the lexicon.
LEXICON_SIZES = {"counts": 200_000, "neural": 1_000_000}
NEURAL_ONLY = ("preset", "device", "threads", "settings", "config", "minutes", "gold", "lexicon_text")


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """
    vocab_size: total number of ids, special tokens (and bytes, in `lossless`) included.
    trees: "neural", "counts", the name or directory of a tokenizer, or an object: the state of a tokenizer, or
        anything with `split_scores(words)`.
    profile: the text profile, "lossless" or "uncased".
    profile_version: the version of its rules for splitting text; None is the newest.
    normalizer: "nfc" or "nfkc" brings all text into that normal form of Unicode first, here and in the tokenizer.
    seed: for everything random; trees from counts and from tokenizers are deterministic.
    special_tokens: None for the profile's own. They get the first ids.
    roles: what special tokens are for, such as {"eos": "</s>"}; None in place of a token takes the role away. A
        token that is not among the special tokens is added to them.
    text_column: the column that holds the text in JSON Lines and Parquet files.
    min_word_count: rarer words are ignored.
    character_coverage: the share of the text covered by characters that get their own token; the rarest
        characters become bytes (`lossless`) or [UNK] (`uncased`).
    vocab: "compact" minimizes the number of tokens, "paper" prunes by entropy as in the paper; post-merge follows
        the same aim. None is "paper" with the preset "paper", and "compact" otherwise.
    alignment: from 0 (as few tokens as possible in running text) to 1 (every distinct word counts the same, so
        that more parts of words and fewer whole words become tokens); None is 0.31. Only for "compact".
    plain_names: whether rare names (words seldom written without a capital, and rarer than one in 100 000 words)
        are exempt from the alignment, so that parts of words get their room; for texts much larger than the
        vocabulary. Only for "compact" and profiles with capitals, and without effect where nouns are capitalised.
    markers: whether there are tokens that change the next one, so that it can be reused inside words (` wind`,
        `<join>`, ` surf`) and with capitals (`<cap>`, ` surf`). None is True where they are possible: for
        "compact" and profiles that mark spaces.
    pruning_rate: the share of the vocabulary removed by each pruning step.
    lexicon_size: the maximum number of words, most frequent first, whose trees are stored with the tokenizer;
        None is 200 000 for trees from counts and 1 000 000 otherwise.
    memory_limit: bytes that counting may use before the rarest words are dropped.
    prior: with the trees of a tokenizer, its vocabulary counts like this many running words in addition to the
        text, so that a small text need not be representative of the language; None is the number of words in
        the text, at most 2 000 000, for a tokenizer of the same profile, and 0 for others.

    Only for neural trees:
    preset: "best" or "fast" (GPU), "tiny" (CPU) or "paper"; None is "fast" on a GPU and "tiny" on a CPU.
    device: "auto" (a GPU if there is one), "cpu" or "cuda".
    threads: threads to compute with; None is 1 on a CPU, so that the files do not depend on the machine, and
        PyTorch's choice on a GPU.
    settings: settings of the preset to override, such as {"training.steps": 2000}.
    config: a TOML file with such settings; `settings` take precedence.
    minutes: a wall-clock budget for the whole run; training ends early enough to stay within it.
    gold: gold segmentations to score trees against during training.
    lexicon_text: more text, whose words get trees in the lexicon but do not affect the vocabulary.
    checkpoint_seconds: time between checkpoints in long stages.
    """

    vocab_size: int = 30_000
    trees: str | TreeSource = "neural"
    profile: str = "lossless"
    profile_version: int | None = None
    normalizer: str | None = None
    seed: int = 0
    special_tokens: Sequence[str] | None = None
    roles: Mapping[str, str | None] = field(default_factory=dict)
    text_column: str = "text"
    min_word_count: int = 1
    character_coverage: float = 0.9999
    vocab: str | None = None
    alignment: float | None = None
    plain_names: bool = False
    markers: bool | None = None
    pruning_rate: float = DEFAULT_PRUNING_RATE
    lexicon_size: int | None = None
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    prior: int | None = None
    preset: str | Any | None = None
    device: str = "auto"
    threads: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    config: str | os.PathLike[str] | None = None
    minutes: float | None = None
    gold: Sequence[str | os.PathLike[str]] = ()
    lexicon_text: Sequence[str | os.PathLike[str]] = ()
    checkpoint_seconds: float = 60.0

    @classmethod
    def checked(cls, **options: Any) -> TrainOptions:
        """Options by name; the error for an unknown name suggests the closest known one."""
        names = [option.name for option in dataclasses.fields(cls)]
        for name in options:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                raise TreetokError(f"unknown option {name!r}" + (f": did you mean {near[0]!r}?" if near else ""))
        return cls(**options)

    def __post_init__(self) -> None:
        object.__setattr__(self, "profile_version", self.text_profile.version)
        self._check_trees()
        numbers = {"vocab_size": 1, "seed": 0, "min_word_count": 1, "memory_limit": 0}
        for name, least in numbers.items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least=least))
        if self.threads is not None:
            object.__setattr__(self, "threads", whole_number("threads", self.threads, least=1))
            if self.threads > MAX_THREADS:
                raise TreetokError(f"threads must be at most {MAX_THREADS}, not {self.threads}")
        if self.prior is not None:
            object.__setattr__(self, "prior", whole_number("prior", self.prior, least=0))
            if self.prior > MAX_PRIOR:
                raise TreetokError(f"prior must be at most {MAX_PRIOR}, not {self.prior}")
        if self.seed > MAX_SEED:
            raise TreetokError(f"seed must be at most {MAX_SEED}, not {self.seed}")
        size = LEXICON_SIZES["counts" if self.trees == "counts" else "neural"]
        size = size if self.lexicon_size is None else whole_number("lexicon_size", self.lexicon_size, least=0)
        object.__setattr__(self, "lexicon_size", size)
        coverage = share("character_coverage", self.character_coverage, may_be_one=True)
        object.__setattr__(self, "character_coverage", coverage)
        object.__setattr__(self, "pruning_rate", share("pruning_rate", self.pruning_rate, may_be_one=False))
        # The default for neural trees depends on the preset, which is not known yet.
        if self.vocab is not None or not self.is_neural:
            vocab, alignment = check_choice(DEFAULT_METHOD if self.vocab is None else self.vocab, self.alignment)
            object.__setattr__(self, "vocab", vocab)
            object.__setattr__(self, "alignment", alignment)
        self._check_switches()
        for name in ("gold", "lexicon_text"):
            object.__setattr__(self, name, paths(name, getattr(self, name)))
        self._check_times()

    def with_vocab(self, default: str) -> TrainOptions:
        """The same options, with the default of a preset if no `vocab` was given."""
        return self if self.vocab is not None else dataclasses.replace(self, vocab=default)

    def _check_trees(self) -> None:
        """Reject objects that give no trees, and options that do not apply to this kind of trees."""
        trees = self.trees
        if isinstance(trees, str | TokenizerState):
            if trees == "":
                raise TreetokError("trees must be 'neural', 'counts', a tokenizer, or have split_scores(words)")
        elif isinstance(trees, type) or not callable(getattr(trees, "split_scores", None)):
            raise TreetokError(f"trees of type {type(trees).__name__} have no split_scores(words)")
        if not self.is_neural:
            for default in dataclasses.fields(self):
                if default.name not in NEURAL_ONLY:
                    continue
                unset = {} if default.name == "settings" else default.default
                if getattr(self, default.name) != unset:
                    name = "settings (--set)" if default.name == "settings" else default.name
                    raise TreetokError(f"{name}: for neural trees alone (--trees neural)")
        if self.prior and not self.is_from_tokenizer:
            raise TreetokError("prior is for the trees of a tokenizer alone")

    def _check_switches(self) -> None:
        # The default of the preset "paper" is known only later.
        is_paper = self.vocab == "paper" or (self.vocab is None and self.preset == "paper")
        marks_spaces = self.text_profile.in_running_text("a") != "a"
        if self.markers is None:
            object.__setattr__(self, "markers", marks_spaces and not is_paper)
        for name in ("plain_names", "markers"):
            if not isinstance(getattr(self, name), bool):
                raise TreetokError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if self.plain_names and is_paper:
            raise TreetokError("plain_names is for vocab='compact' alone: the paper's method has no alignment")
        if self.plain_names and self.text_profile.split("A") != ["A"]:
            raise TreetokError(f"plain_names: the profile {self.profile!r} has no capitals to tell names by")
        if self.markers and is_paper:
            raise TreetokError("markers are for vocab='compact' alone: the paper's method has none")
        if self.markers and not marks_spaces:
            raise TreetokError(f"markers: in the profile {self.profile!r} tokens have no leading spaces")

    def _check_times(self) -> None:
        for name in ("minutes", "checkpoint_seconds"):
            value = getattr(self, name)
            if value is None and name == "minutes":
                continue
            if not isinstance(value, int | float) or not value > 0 or math.isnan(value):
                raise TreetokError(f"{name} must be a number above 0, not {value!r}")

    @property
    def text_profile(self) -> Profile:
        return profile_named(self.profile, self.profile_version, self.normalizer)

    @property
    def is_neural(self) -> bool:
        return isinstance(self.trees, str) and self.trees == "neural"

    @property
    def is_from_counts(self) -> bool:
        return isinstance(self.trees, str) and self.trees == "counts"

    @property
    def is_from_tokenizer(self) -> bool:
        if isinstance(self.trees, str):
            return self.trees not in ("neural", "counts")
        return isinstance(self.trees, TokenizerState)


def paths(name: str, value: Any) -> tuple[Path, ...]:
    if isinstance(value, str | os.PathLike):
        value = [value]
    if not isinstance(value, list | tuple) or not all(isinstance(item, str | os.PathLike) for item in value):
        raise TreetokError(f"{name} must be a list of files, not {value!r}")
    return tuple(Path(item) for item in value)
