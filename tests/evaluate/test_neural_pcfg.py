"""The neural PCFG of `experiments/`: against all trees with all labels of short strings, on a language whose
morphemes we know, and as a command."""

import itertools
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT
from treetok.errors import TreetokError
from treetok.evaluate.tree_sources import LeftBranching, Random
from treetok.progress import Progress, Stopped
from treetok.tree import walk_spans

torch = pytest.importorskip("torch")

from neural_pcfg.grammar import GrammarConfig, NeuralGrammar, RankSpace, Rules  # noqa: E402
from neural_pcfg.inside import log_probabilities  # noqa: E402
from neural_pcfg.training import Trainer, TrainingConfig, train  # noqa: E402
from neural_pcfg.trees import MbrTrees, ViterbiTrees, span_probabilities, viterbi_splits  # noqa: E402
from neural_pcfg.words import CharacterTable, TrainingWords, charts  # noqa: E402

NONTERMINALS, PRETERMINALS, RANK, CHARACTERS = 2, 2, 3, 3


def random_rules(seed, sharpness=1.0):
    generator = torch.Generator().manual_seed(seed)

    def probabilities(*shape, dim):
        return (sharpness * torch.randn(*shape, generator=generator, dtype=torch.float64)).softmax(dim)

    symbols = NONTERMINALS + PRETERMINALS
    return Rules(
        root_A=probabilities(NONTERMINALS, dim=-1),
        parent_AR=probabilities(NONTERMINALS, RANK, dim=-1),
        left_SR=probabilities(symbols, RANK, dim=0),
        right_SR=probabilities(symbols, RANK, dim=0),
        emission_TV=probabilities(PRETERMINALS, CHARACTERS, dim=-1),
    )


def single_precision(rules):
    return RankSpace(*(tensor.float() for tensor in rules.in_rank_space().tensors()))


def binary_rule(rules, parent, left, right):
    return sum(
        rules.parent_AR[parent, r].item() * rules.left_SR[left, r].item() * rules.right_SR[right, r].item()
        for r in range(RANK)
    )


def derivations(rules, ids, start, end, label):
    """All (probability, spans of two and more characters) of trees with labels, whose root has this label."""
    if end - start == 1:
        if label >= NONTERMINALS:
            yield rules.emission_TV[label - NONTERMINALS, ids[start]].item(), frozenset()
        return
    if label >= NONTERMINALS:
        return
    symbols = range(NONTERMINALS + PRETERMINALS)
    for split, left, right in itertools.product(range(start + 1, end), symbols, symbols):
        rule = binary_rule(rules, label, left, right)
        of_right = list(derivations(rules, ids, split, end, right))
        for p_left, spans_left in derivations(rules, ids, start, split, left):
            for p_right, spans_right in of_right:
                yield rule * p_left * p_right, spans_left | spans_right | {(start, end)}


def all_derivations(rules, ids):
    return [
        (rules.root_A[label].item() * probability, spans)
        for label in range(NONTERMINALS)
        for probability, spans in derivations(rules, ids, 0, len(ids), label)
    ]


def padded(strings):
    ids = torch.zeros(len(strings), max(map(len, strings)), dtype=torch.int64)
    for row, string in zip(ids, strings, strict=True):
        row[: len(string)] = torch.tensor(string)
    return ids, torch.tensor([len(string) for string in strings])


def spans_in(best, length):
    """The spans of two and more characters, given the width of the left half of every span."""
    found, spans = set(), [(0, length)]
    while spans:
        start, end = spans.pop()
        if end - start > 1:
            found.add((start, end))
            middle = start + int(best[start, end - start])
            spans += [(start, middle), (middle, end)]
    return frozenset(found)


strings = st.lists(st.integers(0, CHARACTERS - 1), min_size=2, max_size=4)
sharpnesses = st.sampled_from([0.3, 1.0, 4.0])


@settings(max_examples=15)
@given(st.integers(0, 2**31), sharpnesses, st.lists(strings, min_size=1, max_size=3))
def test_probabilities_of_strings_and_spans_are_sums_over_all_derivations(seed, sharpness, batch):
    rules = random_rules(seed, sharpness)
    ids, lengths = padded(batch)
    space = rules.in_rank_space()
    log_probability = log_probabilities(space, ids, lengths, shortest=min(map(len, batch)))
    of_spans = span_probabilities(space, ids, lengths)
    for number, string in enumerate(batch):
        known = all_derivations(rules, string)
        total = sum(probability for probability, _ in known)
        assert log_probability[number].item() == pytest.approx(math.log(total), abs=1e-9)
        for start, end in itertools.combinations(range(len(string) + 1), 2):
            if end - start > 1:
                with_span = sum(probability for probability, spans in known if (start, end) in spans)
                found = of_spans[number, start, end - start].item()
                assert found == pytest.approx(with_span / total, abs=1e-6)
        # What follows the end of a string has no part in its trees.
        outside = [of_spans[number, start, width] for start, width in beyond(len(string), ids.shape[1])]
        assert not any(outside)


def beyond(length, longest):
    return [
        (start, width) for start in range(longest) for width in range(2, longest + 1) if start + width > length
    ]


@settings(max_examples=40)
@given(st.integers(0, 2**31), sharpnesses, strings.filter(lambda string: len(string) > 2))
def test_the_best_trees_are_the_best_of_all_trees(seed, sharpness, string):
    rules = random_rules(seed, sharpness)
    known = all_derivations(rules, string)
    log_best, best = viterbi_splits(rules, torch.tensor(string))
    assert log_best == pytest.approx(math.log(max(probability for probability, _ in known)), abs=1e-9)
    reached = max(probability for probability, spans in known if spans == spans_in(best, len(string)))
    assert math.log(reached) == pytest.approx(log_best, abs=1e-9)

    of_trees = {}
    for probability, spans in known:
        of_trees[spans] = of_trees.get(spans, 0.0) + probability
    expected = {tree: sum(p * len(tree & other) for other, p in of_trees.items()) for tree in of_trees}
    trees = MbrTrees.__new__(MbrTrees)
    trees.space, trees.characters, trees.device = rules.in_rank_space(), CharacterTable("bc"), "cpu"
    [scores] = trees.split_scores(["".join("abc"[i] for i in string)])
    mbr = frozenset((start, end) for start, end, _ in walk_spans(scores.tolist()) if end - start > 1)
    assert expected[mbr] == pytest.approx(max(expected.values()), rel=1e-5)


def test_the_label_of_a_child_decides_how_it_is_split():
    """A -> t B, B -> B t and B -> t t, one rank each: [t [[t t] t]]."""
    B, t = 1, 2
    left_of, right_of = [t, B, t], [B, t, t]
    rules = Rules(
        root_A=torch.tensor([0.98, 0.02]),
        parent_AR=torch.tensor([[0.98, 0.01, 0.01], [0.01, 0.49, 0.5]]),
        left_SR=(10 * torch.eye(4)[left_of].T).softmax(0),
        right_SR=(10 * torch.eye(4)[right_of].T).softmax(0),
        emission_TV=torch.full((PRETERMINALS, CHARACTERS), 1 / CHARACTERS),
    )
    _, best = viterbi_splits(rules, torch.tensor([0, 0, 0, 0]))
    assert spans_in(best, 4) == {(0, 4), (1, 4), (1, 3)}
    assert (best > 0).sum() == 3


def test_gradients():
    space = random_rules(1).in_rank_space().detached()
    ids, lengths = padded([[0, 1, 2, 1, 0], [2, 2, 1], [1, 0]])
    scores = torch.randn(3, 5, 6, dtype=torch.float64, requires_grad=True)

    def value(root, inner, leaf, scores):
        return log_probabilities(RankSpace(root, inner, leaf), ids, lengths, scores)

    assert torch.autograd.gradcheck(value, (*space.tensors(), scores))


def test_long_strings_do_not_underflow():
    """A string of 150 characters has a probability far below the smallest number of 32 bits."""
    rules = random_rules(3, sharpness=6.0)
    ids = torch.randint(CHARACTERS, (2, 150), generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([150, 90])
    exact = log_probabilities(rules.in_rank_space(), ids, lengths)
    single = single_precision(rules)
    assert exact[0] < -120
    assert log_probabilities(single, ids, lengths).tolist() == pytest.approx(exact.tolist(), rel=1e-4)
    half = log_probabilities(single, ids, lengths, dtype=torch.bfloat16)
    assert half.tolist() == pytest.approx(exact.tolist(), rel=0.02)
    spans = span_probabilities(single, ids, lengths)
    # A binary tree over n characters has n - 1 spans of two and more.
    assert spans.sum((1, 2)).tolist() == pytest.approx([149, 89], rel=1e-3)


def test_gradients_with_few_bits_point_the_same_way():
    ids, lengths = padded([[0, 1, 2, 1, 0, 2, 2], [2, 2, 1, 0, 0]])
    gradients = []
    for dtype in (torch.float32, torch.bfloat16):
        space = single_precision(random_rules(5)).detached()
        log_probabilities(space, ids, lengths, dtype=dtype).sum().backward()
        gradients.append(torch.cat([tensor.grad.flatten() for tensor in space.tensors()]))
    assert torch.cosine_similarity(*gradients, dim=0) > 0.999


def test_impossible_strings_have_no_gradient():
    space = single_precision(random_rules(5)).detached()
    with torch.no_grad():
        space.leaf_VQ[2] = 0
    log_probability = log_probabilities(space, *padded([[0, 2, 1], [2, 2, 2]]))
    assert (log_probability < -80).all() and log_probability.isfinite().all()
    log_probability.sum().backward()
    assert not any(tensor.grad.any() for tensor in space.tensors())


def test_rules_of_the_network_are_probabilities():
    grammar = NeuralGrammar(GrammarConfig(3, 5, 7, 8), 11)
    rules = grammar.rules()
    rule_ASS = torch.einsum("ar,br,cr->abc", rules.parent_AR, rules.left_SR, rules.right_SR)
    for rows in (rule_ASS.flatten(1), rules.emission_TV, rules.root_A[None]):
        assert rows.sum(1).tolist() == pytest.approx([1.0] * len(rows))
    assert rule_ASS.shape == (3, 8, 8) and rules.emission_TV.shape == (5, 11)


def test_initialisations_differ_in_embeddings_alone():
    def deviations(initialisation):
        torch.manual_seed(0)
        grammar = NeuralGrammar(GrammarConfig(300, 300, 100, 64, initialisation), 50)
        return {name: parameter.std().item() for name, parameter in grammar.named_parameters()}

    normal, xavier = deviations("normal"), deviations("xavier")
    embeddings = {"symbol_embedding", "root_embedding"}
    assert normal["symbol_embedding"] == pytest.approx(1, rel=0.05)
    assert xavier["symbol_embedding"] == pytest.approx(math.sqrt(2 / (600 + 64)), rel=0.05)
    for name, deviation in normal.items():
        if name not in embeddings and name.endswith("weight"):
            assert xavier[name] == pytest.approx(deviation, rel=0.1)
    with pytest.raises(TreetokError, match="initialisation must be normal or xavier, not 'zero'"):
        GrammarConfig(initialisation="zero")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"seconds": -5.0}, "not after -5.0 and 0"),
        ({"seconds": math.nan}, "not after nan and 0"),
        ({"seconds": math.inf}, "not after inf and 0"),
        ({"seconds": 0.0}, "not after 0.0 and 0"),
        ({"steps": -1}, "not after 300.0 and -1"),
        ({"learning_rate": -1.0}, "--learning-rate must be above 0 and finite, not -1.0"),
        ({"words_per_step": 0}, "--words-per-step must be from 1 to 10000000, not 0"),
        ({"words_per_step": 10**12}, "--words-per-step must be from 1 to 10000000, not 1000000000000"),
        ({"seed": -1}, "--seed must be from 0 to 4611686018427387903, not -1"),
        ({"seed": 2**62}, "--seed must be from 0 to 4611686018427387903, not 4611686018427387904"),
    ],
)
def test_settings_of_training_are_checked(settings, said):
    with pytest.raises(TreetokError, match=re.escape(said)):
        TrainingConfig(**settings)


@pytest.mark.parametrize("name", ["nonterminals", "preterminals", "rank", "dimension"])
@pytest.mark.parametrize("size", [-1, 0, 10**8])
def test_sizes_of_grammars_are_checked(name, size):
    with pytest.raises(TreetokError, match=rf"^--{name} must be from 1 to \d+, not {size}$"):
        GrammarConfig(**{name: size})


@given(st.lists(st.integers(2, 40), min_size=1), st.integers(1, 10_000))
def test_charts_hold_every_word_once(lengths, most_values):
    lengths = np.array(sorted(lengths, reverse=True))
    covered = []
    for chart in charts(lengths, 3, most_values):
        of_chart = lengths[chart]
        assert of_chart.min() >= 2 / 3 * of_chart.max()
        assert len(of_chart) == 1 or len(of_chart) * of_chart.max() ** 2 * 3 <= most_values
        covered += range(len(lengths))[chart]
    assert covered == list(range(len(lengths)))


def test_words_are_drawn_as_often_as_they_occur():
    counts = {"the": 600, "of": 300, "house": 100, "a": 5000, "house" * 5: 5000, "rare": 1}
    words = TrainingWords(counts, longest=20, min_count=2)
    assert words.words == ["house", "the", "of"] and words.running_words == 1000
    batch = words.draw(100_000, seed=1, step=2)
    assert batch.lengths.tolist() == [5, 3, 2]
    assert (batch.counts / 1000).tolist() == pytest.approx([10, 60, 30], rel=0.05)
    assert words.draw(100_000, seed=1, step=2).counts.tolist() == batch.counts.tolist()
    assert words.draw(100_000, seed=1, step=3).counts.tolist() != batch.counts.tolist()
    rare = TrainingWords({"ab": 1, "cd": 1, "ef": 2}, longest=20).draw(100_000, seed=1, step=2)
    assert (rare.counts / 1000).tolist() == pytest.approx([25, 25, 50], rel=0.05)


# ---- a language of two morphemes per word

MORPHEMES = ["ba", "dede", "fo", "gula", "hi", "kako", "lem", "nup"]
PAIRS = list(itertools.product(MORPHEMES, MORPHEMES))
LANGUAGE = {left + right: 1 for left, right in PAIRS}


def toy_trainer(steps, seed=0):
    torch.manual_seed(seed)
    characters = CharacterTable.of_words(LANGUAGE)
    grammar = NeuralGrammar(GrammarConfig(60, 60, 60, 64), len(characters))
    config = TrainingConfig(steps=steps, seconds=0, words_per_step=32, learning_rate=0.01, seed=seed)
    return Trainer(grammar, TrainingWords(LANGUAGE, longest=20), characters, config), characters


def recall_of_morphemes(source):
    found = 0
    for (left, right), scores in zip(PAIRS, source.split_scores([a + b for a, b in PAIRS]), strict=True):
        spans = {(start, end) for start, end, _ in walk_spans(list(scores))}
        found += ((0, len(left)) in spans) + ((len(left), len(left + right)) in spans)
    return found / (2 * len(PAIRS))


def test_it_learns_the_morphemes_of_a_small_language(tmp_path):
    trainer, characters = toy_trainer(steps=120)
    before = trainer.mean_loss()
    train(trainer, tmp_path / "grammar")
    # No grammar can do better than to know all words.
    assert math.log(len(PAIRS)) < trainer.mean_loss() < before / 2
    trivial = max(recall_of_morphemes(source) for source in (Random(0), LeftBranching()))
    assert trivial < 0.6
    assert recall_of_morphemes(MbrTrees(trainer.grammar, characters)) > 0.9


def test_training_resumes_exactly(tmp_path):
    whole, _ = toy_trainer(steps=6)
    train(whole, tmp_path / "whole")

    stopped, _ = toy_trainer(steps=6)
    progress = Progress(None)
    progress.is_stopping = lambda: stopped.step == 3
    with pytest.raises(Stopped, match="stopped at step 3"):
        train(stopped, tmp_path / "stopped", progress)

    torch.manual_seed(1)
    resumed, _ = toy_trainer(steps=6)
    for parameter in resumed.grammar.parameters():
        torch.nn.init.zeros_(parameter)
    train(resumed, tmp_path / "stopped")
    assert resumed.step == 6
    for one, other in zip(whole.grammar.parameters(), resumed.grammar.parameters(), strict=True):
        assert torch.equal(one, other)

    # Nothing is left to do; and a checkpoint is of one run only.
    again, _ = toy_trainer(steps=6)
    train(again, tmp_path / "whole")
    assert again.step == 6 and again.seconds == pytest.approx(whole.seconds)
    with pytest.raises(TreetokError, match=r"of another run: training: steps: .*; choose another folder"):
        train(toy_trainer(steps=7)[0], tmp_path / "whole")


def test_a_time_limit_ends_training(tmp_path):
    trainer, _ = toy_trainer(steps=10**6)
    trainer.config = TrainingConfig(seconds=0.3, words_per_step=32)
    train(trainer, tmp_path)
    assert 0 < trainer.step < 10**6 and 0.3 <= trainer.seconds < 30


def test_viterbi_and_mbr_trees_of_any_words():
    """Unknown characters, single ones, and any order of lengths."""
    trainer, characters = toy_trainer(steps=1)
    words = ["x", "badede", "zz", "hi", "lemnup?", "b", "gula" * 4]
    for source in (MbrTrees(trainer.grammar, characters), ViterbiTrees(trainer.grammar, characters)):
        scores = source.split_scores(words)
        assert [len(s) for s in scores] == [len(word) - 1 for word in words]
        [alone] = source.split_scores(["lemnup?"])
        assert alone.tolist() == scores[4].tolist()


def pcfg(monkeypatch, folder, *options):
    import pcfg

    command = ["pcfg.py", "--quick", "--folder", folder, "--out", folder / "pcfg.json", *options]
    monkeypatch.setattr(sys, "argv", list(map(str, command)))
    pcfg.main()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seed", -1], "--seed must be from 0 to"),
        (["--dimension", 10**8], "--dimension must be from 1 to"),
        (["--min-word-count", -3], "--min-word-count must be at least 1, not -3"),
        (["--longest", 1], "--longest must be at least 2, since one character has no tree, not 1"),
        (["--device", "foo"], "unknown device 'foo'"),
    ],
)
def test_options_are_checked_before_the_text_is_read(monkeypatch, tmp_path, options, said):
    with pytest.raises(TreetokError, match=re.escape(said)):
        pcfg(monkeypatch, tmp_path, tmp_path / "none.txt", *options)


def test_a_text_without_words_names_the_options(monkeypatch, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("walked talked\n", encoding="utf-8")
    said = "no words of 2 to 20 characters that occur 2 times or more: raise --longest, or lower --min-word-count"
    with pytest.raises(TreetokError, match=said):
        pcfg(monkeypatch, tmp_path, text)


def test_too_little_memory_names_the_options(monkeypatch, tmp_path):
    def step(trainer):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 40 bytes")

    monkeypatch.setattr(Trainer, "take_step", step)
    with pytest.raises(TreetokError, match=r"^out of memory: try smaller --nonterminals, .* or --words-per-step$"):
        pcfg(monkeypatch, tmp_path)


def test_the_command(tmp_path):
    out, folder = tmp_path / "pcfg.json", tmp_path / "grammar"
    command = [sys.executable, ROOT / "experiments/pcfg.py", "--quick", "--folder", folder, "--out", out]
    first = subprocess.run([*command, "--steps", "20"], capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    assert "s of training" in first.stdout
    result = json.loads(out.read_text(encoding="utf-8"))
    [table] = result["comparison"]["tables"]
    names = ["neural PCFG", "neural PCFG, Viterbi", "left-branching", "right-branching", "balanced", "random"]
    assert list(table["rows"]) == names
    scores = {"leaves_dropped", "leaves_counted", "leaves_counted_first_64"}
    assert all(scores <= set(row) and 0 <= row["leaves_dropped"]["value"] <= 1 for row in table["rows"].values())
    assert result["comparison"]["notes"]["training"].startswith("20 steps of 256 running words")
    assert str(tmp_path) not in result["command"]
    # The grammar is there: trees are decoded again, and nothing is trained.
    kept = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    second = subprocess.run([*command, "--steps", "20"], capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == kept
    assert json.loads(out.read_text(encoding="utf-8")) == result
