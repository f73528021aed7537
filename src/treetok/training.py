"""From a corpus to a tokenizer: count words, get their trees, build the vocabulary."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from treetok.corpus import count_words, texts_of, to_be_read_twice
from treetok.corpus.characters import characters_by_count
from treetok.errors import TreetokError, TreetokWarning, share, whole_number
from treetok.lexicon import Lexicon
from treetok.progress import Progress
from treetok.segment import Segmenter
from treetok.sources import CountTrees, TreeSource, scores_of_words
from treetok.state import TokenizerState
from treetok.text import Profile, check_encodable, profile_named
from treetok.tokens import ASCII, HIGH_BYTES, UNKNOWN, Entry, is_base_name
from treetok.tree import with_leading_space
from treetok.vocabulary import SharedNodes, build_vocabulary, check_choice

if TYPE_CHECKING:
    from treetok.model.learning import LearnedTrees

WORDS_PER_BATCH = 20_000
LARGEST_SEED = (1 << 62) - 1
# Trees from counts can be worked out again; what the composition model knows is in the lexicon alone.
LEXICON_SIZES = {"counts": 200_000, "neural": 1_000_000}


def train_state(
    corpus: Any,
    vocab_size: int,
    trees: str | TreeSource,
    profile_name: str,
    seed: int,
    *,
    special_tokens: Sequence[str] | None,
    text_column: str,
    min_word_count: int,
    character_coverage: float,
    vocab: str,
    alignment: float | None,
    pruning_rate: float,
    lexicon_size: int | None,
    memory_limit: int,
    progress: bool | Callable[[str, int, int | None], object],
    preset: str | None,
    device: str,
    checkpoints: str | PathLike[str] | None,
    resume: bool,
) -> TokenizerState:
    """What `TreeTokenizer.train` does; the arguments are explained there."""
    profile = profile_named(profile_name)
    is_neural = isinstance(trees, str) and trees == "neural"
    if is_neural:
        if isinstance(corpus, Mapping):
            raise TreetokError("trees='neural' are learned from running text, not from word counts")
        check_before_learning(preset, device, checkpoints, resume)
    elif preset is not None or checkpoints is not None or resume or device != "auto":
        raise TreetokError("preset, device, checkpoints and resume are for trees='neural' alone")
    specials = special_token_ids(profile, special_tokens)
    check_trees(trees)
    base = base_entries(profile)
    vocab_size = whole_number("vocab_size", vocab_size, least=1)
    if vocab_size < len(base) + len(specials):
        raise TreetokError(too_small(vocab_size, 0, len(base) + len(specials)))
    seed = whole_number("seed", seed, least=0)
    if seed > LARGEST_SEED:
        raise TreetokError(f"seed must be at most {LARGEST_SEED}, not {seed}")
    min_word_count = whole_number("min_word_count", min_word_count, least=1)
    if lexicon_size is None:
        lexicon_size = LEXICON_SIZES["neural" if is_neural else "counts"]
    lexicon_size = whole_number("lexicon_size", lexicon_size, least=0)
    memory_limit = whole_number("memory_limit", memory_limit, least=0)
    character_coverage = share("character_coverage", character_coverage, may_be_one=True)
    pruning_rate = share("pruning_rate", pruning_rate, may_be_one=False)
    vocab, alignment = check_choice(vocab, alignment)
    shown = Progress(progress)

    if is_neural:
        corpus = to_be_read_twice(corpus, text_column)
    counter = count_words(corpus, profile, text_column=text_column, memory_limit=memory_limit, progress=shown)
    words = {word: times for word, times in counter.counts().items() if times >= min_word_count}
    if counter.dropped:
        warnings.warn(
            f"{counter.dropped} rare words were dropped to stay within {memory_limit} bytes",
            TreetokWarning,
            stacklevel=3,
        )
    if not words:
        raise TreetokError("the corpus has no words" + (" that are frequent enough" if min_word_count > 1 else ""))

    alphabet = covering_characters(words, character_coverage)
    # Bytes and special tokens take their share of the size; so do ASCII characters that the text lacks.
    outside = len(specials) + len([entry for entry in base if entry not in alphabet])
    if vocab_size < outside + len(alphabet):
        raise TreetokError(too_small(vocab_size, len(alphabet), outside))

    letters: Counter[str] = Counter()
    for word, times in words.items():
        letters[profile.letters(word)] += times
    learned = None
    if is_neural:
        learned = learn_trees(
            texts_of(corpus, text_column, shown, "reading text"),
            sorted(letters),
            profile,
            preset=preset,
            device=device,
            seed=seed,
            checkpoints=checkpoints,
            resume=resume,
            progress=shown,
        )
        source: TreeSource = learned.parser
        scores = {word: learned.scores[word] for word in letters}
    else:
        source = CountTrees.from_words(letters) if isinstance(trees, str) else trees
        scores = trees_of(source, sorted(letters), shown)

    whole_words = {word: times for word, times in words.items() if alphabet.issuperset(word)}
    # A character all of whose words have some other character outside the alphabet still gets its token.
    lone_characters = alphabet.difference(*whole_words)
    nodes = SharedNodes(
        [(word, scores_of_word(word, profile, scores), times) for word, times in whole_words.items()]
        + [(character, [], 1) for character in sorted(lone_characters)]
    )
    with shown.stage("building the vocabulary", None, "tokens") as stage:
        vocabulary = build_vocabulary(
            nodes,
            vocab_size - outside,
            method=vocab,
            alignment=alignment,
            # Where no space tells whether a token begins a word.
            letters_cost_more=profile.in_running_text("a") == "a",
            pruning_rate=pruning_rate,
            report=stage.at,
        )
    if len(vocabulary) < vocab_size - outside:
        warnings.warn(
            f"the text supports no more than {len(vocabulary) + outside} tokens; {vocab_size} were asked for",
            TreetokWarning,
            stacklevel=3,
        )

    fewest_tokens = vocab == "compact"
    segmenter = Segmenter(vocabulary, fewest_tokens)
    if isinstance(trees, str):
        kept = sorted(letters, key=lambda word: (-letters[word], word))[:lexicon_size]
    else:
        # Nobody can work these trees out again when the tokenizer is loaded without the source.
        kept = list(letters)
    return TokenizerState(
        profile=profile.name,
        entries=in_order_of_ids(base, vocabulary),
        special_tokens=specials,
        lexicon=Lexicon.from_scores({word: scores[word] for word in kept if len(word) > 1}),
        source=source,
        fewest_tokens=fewest_tokens,
        settings={
            "trees": trees if isinstance(trees, str) else f"custom ({type(trees).__name__})",
            "seed": seed,
            **({} if learned is None else figures_of_learning(learned, profile, segmenter)),
            "min_word_count": min_word_count,
            "character_coverage": character_coverage,
            "vocab": vocab,
            **({} if alignment is None else {"alignment": alignment}),
            "pruning_rate": pruning_rate,
            "words_in_corpus": sum(words.values()),
            "distinct_words": len(words),
            "dropped_words": counter.dropped,
        },
    )


def too_small(vocab_size: int, characters: int, outside: int) -> str:
    return (
        f"a vocabulary of {vocab_size} is too small: {characters} characters of the text and {outside}"
        f" special tokens (and bytes, in lossless) need at least {outside + characters}"
    )


def check_trees(trees: Any) -> None:
    """Refuse what gives no trees before any text is read."""
    if isinstance(trees, str):
        if trees not in LEXICON_SIZES:
            raise TreetokError(
                f"unknown trees {trees!r}: choose 'neural', 'counts' or an object with split_scores(words)"
            )
    elif isinstance(trees, type) or not callable(getattr(trees, "split_scores", None)):
        raise TreetokError(f"trees of type {type(trees).__name__} have no split_scores(words)")


def check_before_learning(
    preset: str | None, device: str, checkpoints: str | PathLike[str] | None, resume: bool
) -> None:
    """Refuse before any text is read what learning trees would refuse."""
    try:
        from treetok.model.learning import check_choices
    except ImportError as error:
        raise TreetokError(
            f"trees='neural' need {error.name}: pip install 'treetok[train]', or choose trees='counts'"
        ) from None
    check_choices(preset, device, checkpoints, resume)


def learn_trees(*arguments: Any, **options: Any) -> LearnedTrees:
    """`treetok.model.learning.learn_trees`, imported when it is needed: it brings PyTorch along."""
    from treetok.model import learning

    return learning.learn_trees(*arguments, **options)


def figures_of_learning(learned: LearnedTrees, profile: Profile, segmenter: Segmenter) -> dict[str, object]:
    """How training went, and how often the parser cuts unseen words as the composition model would."""
    from treetok.model.distillation.distil import segmentation_agreement

    words = learned.unseen_words
    alike = segmentation_agreement(learned.parser, learned.scores, segmenter, words, profile.in_running_text)
    return {
        **learned.figures,
        "unseen_words": len(words),
        "cut_as_the_model_would_of_unseen_words": round(alike, 4),
    }


def special_token_ids(profile: Profile, special_tokens: Sequence[str] | None) -> dict[str, int]:
    """Special tokens have the first ids. Where nothing falls back to bytes, an unknown token is needed."""
    if not isinstance(special_tokens, list | tuple | None):
        raise TreetokError(f"special_tokens is a list of strings, not {type(special_tokens).__name__}")
    names = list(profile.default_special_tokens if special_tokens is None else special_tokens)
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise TreetokError(f"a special token must be a string that is not empty, not {name!r}")
        check_encodable(name)
        if name in seen:
            raise TreetokError(f"the special token {name!r} is given twice")
        seen.add(name)
        if is_base_name(name):
            raise TreetokError(f"{name!r} cannot be a special token: it is the name of an ordinary one")
    if not profile.byte_fallback and UNKNOWN not in names:
        names.append(UNKNOWN)
    return {name: number for number, name in enumerate(names)}


def trees_of(
    source: TreeSource, words: list[str], shown: Progress, stage_name: str = "building trees"
) -> dict[str, list[float]]:
    """The scores of all words, a batch at a time."""
    scores: dict[str, list[float]] = {}
    with shown.stage(stage_name, len(words), "words") as stage:
        for start in range(0, len(words), WORDS_PER_BATCH):
            scores |= scores_of_words(source, words[start : start + WORDS_PER_BATCH])
            stage.at(len(scores))
    return scores


def scores_of_word(word: str, profile: Profile, scores_of_letters: dict[str, list[float]]) -> list[float]:
    letters = profile.letters(word)
    scores = scores_of_letters[letters]
    return with_leading_space(scores) if len(word) > len(letters) else scores


def covering_characters(words: dict[str, int], coverage: float) -> frozenset[str]:
    """The most frequent characters that together make up the share `coverage` of the text.

    >>> sorted(covering_characters({"abba": 10, "x": 1}, 0.9))
    ['a', 'b']
    """
    counts = characters_by_count(words)
    enough = coverage * sum(times for _, times in counts)
    kept: list[str] = []
    covered = 0
    for character, times in counts:
        if covered >= enough:
            break
        kept.append(character)
        covered += times
    return frozenset(kept)


def base_entries(profile: Profile) -> list[Entry]:
    """What every vocabulary of the profile has: ASCII characters and the other bytes, or nothing."""
    return [*map(chr, ASCII), *HIGH_BYTES] if profile.byte_fallback else []


def in_order_of_ids(base: list[Entry], vocabulary: dict[str, int]) -> list[tuple[Entry, int]]:
    """The base first, then the rest as it comes, the most frequent first."""
    counts: dict[Entry, int] = dict.fromkeys(base, 0)
    counts.update(vocabulary)
    return list(counts.items())
