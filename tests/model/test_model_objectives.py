"""Losses against sums over single words; sampling of batches; trees from the composition model."""

import math
import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from piece_reference import log_string  # noqa: E402

from treetok import Tree, TreetokError  # noqa: E402
from treetok.corpus.word_ids import read_sequence  # noqa: E402
from treetok.model.batches.maker import TOO_LONG, BatchMaker, chart_numbers, mixed_seed  # noqa: E402
from treetok.model.charts.complete import CompleteCharts  # noqa: E402
from treetok.model.config import (  # noqa: E402
    CompositionConfig,
    LanguageModelConfig,
    ModelConfig,
    ObjectiveConfig,
)
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary  # noqa: E402
from treetok.model.data.piece_model import PieceModel  # noqa: E402
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.decoding import GREEDY, LEAST_PROBABILITY, CompositionTrees, DecodingConfig  # noqa: E402
from treetok.model.ensemble import EnsembleMember  # noqa: E402
from treetok.model.losses.objectives import TreeLearner  # noqa: E402
from treetok.model.reference_model import RecursiveModel  # noqa: E402
from treetok.text import profile_named  # noqa: E402

SIZES = CompositionConfig(dimension=8, heads=2, hidden=12, inside_layers=2)
LM_SIZES = LanguageModelConfig(layers=2, heads=2, dropout=0.0, max_sequence_length=32)
LONGEST = 5


def make(seed, objective):
    """A text over few letters, with some words that are too long; its batches, a learner, the reference."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    text = " ".join("".join(rng.choices("abc", k=rng.choice([1, 2, 3, 4, 5, 9]))) for _ in range(30))
    sequence = read_sequence([text], profile_named("uncased"))
    words = [word for word in sequence.words if len(word) <= LONGEST]
    strings = {word[i:j] for word in words for i in range(len(word)) for j in range(i + 2, len(word) + 1)}
    morphemes = MorphemeVocabulary("abc", [s for s in sorted(strings) if rng.random() < 0.4])
    table = tabulate_substrings(words)
    charts = CompleteCharts(table, morphemes.ids(table.strings(words)), "cpu")
    maker = BatchMaker(chart_numbers(sequence, words), table.lengths, charts.plan, 2, 6, seed, "cpu")
    config = ModelConfig(SIZES, LM_SIZES, objective, max_word_length=LONGEST)
    learner = TreeLearner(config, len(morphemes)).double()
    morpheme_id = morphemes.id if objective.morph_overriding else lambda s: morphemes.id(s) if len(s) == 1 else 0
    return words, maker, learner, RecursiveModel(learner.composition, morpheme_id), morphemes


def running_words(maker, words, step):
    """A batch and its text, which is sampled again by hand: None for a word that is too long."""
    batch = maker.draw(step)
    generator = torch.Generator().manual_seed(mixed_seed(maker.seed, step))
    starts = torch.randint(0, len(maker.word_ids) - 6 + 1, (2, 1), generator=generator)
    ids = maker.word_ids[starts + torch.arange(6)].tolist()
    return batch, [[None if i == TOO_LONG else words[i] for i in row] for row in ids]


def losses_by_definition(learner, recursive, morphemes, batch, text):
    """The three losses as sums over running words and their spans."""
    objective = learner.config.objective
    distinct = sorted(
        {w for row in text for w in row if w},
        key=lambda w: batch.words_BT.flatten()[[x for row in text for x in row].index(w)].item(),
    )
    count = {w: sum(row.count(w) for row in text) for w in distinct}
    vectors = [recursive.inside(w)[0] for w in distinct] + [learner.long_word]
    place = {w: i for i, w in enumerate(distinct)} | {None: len(distinct)}
    roots = dict.fromkeys(distinct, learner.composition.root)
    next_word = 0.0
    if objective.context:
        losses, before = [], []
        for row in text:
            states = learner.language_model(torch.stack([vectors[place[w]] for w in row])[None])[0]
            before += [learner.composition.root, *states[:-1]]
            for state, following in zip(states[:-1], row[1:], strict=True):
                logits = torch.stack(vectors) @ state / SIZES.dimension**0.5
                losses.append(-logits.log_softmax(0)[place[following]])
        next_word = torch.stack(losses).mean()
        if objective.context_root:
            roots = {w: before[batch.chosen_W[place[w]]] for w in distinct}
    sums = {"character": [0.0, 0.0], "span": [0.0, 0.0]}
    for w in distinct:
        for i in range(len(w)):
            for j in range(i + 1, len(w) + 1):
                morpheme_id = morphemes.id(w[i:j])
                kind = "character" if j - i == 1 else "span"
                if (
                    not morpheme_id
                    or (kind == "character" and len(w) == 1)
                    or (kind == "span" and not objective.span_loss)
                ):
                    continue
                weight = count[w] ** objective.count_power
                if kind == "span" and objective.span_weights:
                    weight *= recursive.span_weight(w, i, j)
                logits = learner.composition.embedding.weight @ recursive.outside(w, i, j, roots[w])
                sums[kind][0] -= weight * logits.log_softmax(0)[morpheme_id].item()
                sums[kind][1] += weight
    character, span = (total / weights if weights else 0.0 for total, weights in sums.values())
    return character, span, next_word


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "objective",
    [
        ObjectiveConfig(),
        ObjectiveConfig(count_power=0.5),
        ObjectiveConfig(context=False),
        ObjectiveConfig(context_root=False),
        ObjectiveConfig(morph_overriding=False),
        ObjectiveConfig(span_loss=False),
        ObjectiveConfig(span_weights=False),
    ],
    ids=["all", "power", "no-context", "no-context-root", "no-overriding", "no-span-loss", "no-span-weights"],
)
def test_losses_equal_their_definition(seed, objective):
    words, maker, learner, recursive, morphemes = make(seed, objective)
    batch, text = running_words(maker, words, step=seed + 5)
    losses = learner(batch)
    expected = losses_by_definition(learner, recursive, morphemes, batch, text)
    got = (losses.character.item(), losses.span.item(), losses.next_word.item())
    assert got == pytest.approx([x if isinstance(x, float) else x.item() for x in expected], abs=1e-5)
    assert losses.total.item() == pytest.approx(sum(got))


def test_batches_depend_on_seed_and_step_alone():
    maker = make(1, ObjectiveConfig())[1]
    for step in (0, 7):
        one, other = maker.draw(step), maker.draw(step)
        assert torch.equal(one.words_BT, other.words_BT)
        assert torch.equal(one.chosen_W, other.chosen_W)
    assert not torch.equal(maker.draw(0).chosen_W, maker.draw(1).chosen_W)


def test_the_chosen_position_of_a_word_holds_that_word():
    maker = make(2, ObjectiveConfig())[1]
    batch = maker.draw(3)
    flat = batch.words_BT.flatten()
    assert torch.equal(flat[batch.chosen_W], torch.arange(batch.plan.words))
    assert torch.equal(torch.bincount(flat, minlength=batch.plan.words + 1)[:-1], batch.count_W)


@pytest.mark.parametrize("seed", range(5))
def test_trees_split_at_the_highest_weight(seed, monkeypatch):
    monkeypatch.setattr("treetok.model.decoding.LETTERS_PER_BATCH", {"cpu": 12})
    words, _, learner, recursive, morphemes = make(seed, ObjectiveConfig())
    source = CompositionTrees([EnsembleMember(learner.composition, morphemes)], decoding=GREEDY)
    words = [*words, "abcabc", "b", "xax"]

    def spans(word, start=0):
        found = [(start, start + len(word))]
        if len(word) > 1:
            k = int(recursive.inside(word)[1].argmax()) + 1
            found += spans(word[:k], start) + spans(word[k:], start + k)
        return found

    for word, scores in zip(words, source.split_scores(words), strict=True):
        assert scores.dtype == np.float32
        assert sorted(Tree(word, scores).spans()) == sorted(spans(word))


def all_trees(start, end):
    """All binary trees over some letters, as the lists of their spans."""
    if end - start == 1:
        return [[(start, end)]]
    return [
        [(start, end), *left, *right]
        for middle in range(start + 1, end)
        for left in all_trees(start, middle)
        for right in all_trees(middle, end)
    ]


@pytest.mark.parametrize("seed", range(6))
@torch.no_grad()
def test_trees_have_the_most_probable_spans_of_all_trees(seed):
    reading = DecodingConfig(
        own_morpheme=seed % 2 == 0, temperature=1 + seed / 4, piece_temperature=0.5 + seed / 2
    )
    # In every third case two models, whose probabilities are multiplied.
    made = [make(other, ObjectiveConfig()) for other in ((seed, seed + 10) if seed % 3 == 0 else (seed,))]
    members = [EnsembleMember(learner.composition, morphemes) for _, _, learner, _, morphemes in made]
    for member in members:
        member.composition.inside.score.weight *= 20
    recursive_of = [recursive for _, _, _, recursive, _ in made]
    # In every second case a language model of pieces is one more member.
    pieces = PieceModel({"ab": -2.0, "c": -1.0, "abc": -3.0}, {"a": 3, "b": 2, "ab": 2}, 0.1) if seed % 2 else None
    source = CompositionTrees(members, decoding=reading, pieces=pieces)
    words = [word for word in {*made[0][0], "abcabc", "bb", "c"} if len(word) <= 7]
    voters = len(members) + (pieces is not None)

    @cache
    def weights(number, string):
        if number == len(members):
            halves = [(string[:k], string[k:]) for k in range(1, len(string))]
            scores = [log_string(pieces, left) + log_string(pieces, right) for left, right in halves]
            return (torch.tensor(scores).double() / reading.piece_temperature).softmax(0).tolist()
        member, recursive = members[number], recursive_of[number]
        embedding = member.composition.embedding.weight
        own = embedding[member.morphemes.id(string) if reading.own_morpheme else 0][None]
        scores = [
            member.composition.inside(
                recursive.inside(string[:k])[0][None], recursive.inside(string[k:])[0][None], own
            )[0]
            for k in range(1, len(string))
        ]
        return (torch.cat(scores).double() / reading.temperature).softmax(0).tolist()

    def probability(number, word, tree):
        inner = set(tree)
        product = 1.0
        for start, end in tree:
            for k in range(1, end - start):
                if {(start, start + k), (start + k, end)} <= inner:
                    product *= weights(number, word[start:end])[k - 1]
        return product

    for word, scores in zip(words, source.split_scores(words), strict=True):
        trees = all_trees(0, len(word))
        log_product = Counter()
        for number in range(voters):
            expected = Counter()
            for tree in trees:
                for span in tree:
                    expected[span] += probability(number, word, tree)
            assert expected[0, len(word)] == pytest.approx(1)
            for span, share in expected.items():
                log_product[span] += math.log(share + LEAST_PROBABILITY)
        most = max(sum(log_product[span] for span in tree) for tree in trees)
        found = sum(log_product[span] for span in Tree(word, scores).spans())
        assert found == pytest.approx(most, abs=1e-4)


@pytest.mark.parametrize("name", ["temperature", "piece_temperature"])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e-300, math.inf, math.nan])
def test_temperatures_have_limits(name, value):
    with pytest.raises(TreetokError, match=f"decoding.{name} must be from 0.001 to 1000, not {value!r}"):
        DecodingConfig(**{name: value})


def test_trees_as_in_the_paper_come_from_one_model():
    *_, learner, _, morphemes = make(0, ObjectiveConfig())
    members = [EnsembleMember(learner.composition, morphemes)] * 2
    with pytest.raises(TreetokError, match="trees of one model, not of an ensemble"):
        CompositionTrees(members, decoding=GREEDY)
    with pytest.raises(TreetokError, match="trees of one model, not of an ensemble"):
        CompositionTrees(members[:1], decoding=GREEDY, pieces=PieceModel({}, {}, 0.1))
    with pytest.raises(TreetokError, match="at least one"):
        CompositionTrees([])
