"""Translation: sentence pairs, the Transformer, beam search, scores, and the experiment as a command."""

import argparse
import itertools
import json
import math
import random
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT

torch = pytest.importorskip("torch")

import translation  # noqa: E402
from transformer_translation.beam_search import beam_search  # noqa: E402
from transformer_translation.encoded_pairs import END, PADDING, EncodedPairs, EncodedSentences  # noqa: E402
from transformer_translation.made_up_pairs import made_up_pair, write_made_up_pairs  # noqa: E402
from transformer_translation.network import NetworkConfig, Transformer, TransformerHypotheses  # noqa: E402
from transformer_translation.parallel_text import (  # noqa: E402
    HeldOutSentences,
    Pair,
    held_out_part,
    kept_apart,
    normalized,
    read_pairs,
)
from transformer_translation.prepare import pair_sets  # noqa: E402
from transformer_translation.subwords import BpeSubwords, load_subwords, save_subwords  # noqa: E402
from transformer_translation.training import (  # noqa: E402
    EncodedPairing,
    TrainingConfig,
    planned_batches,
    total_nats,
    train,
)
from transformer_translation.translate import (  # noqa: E402
    SearchConfig,
    add_translations,
    finished_translations,
    translate,
)
from treetok.corpus.counting import count_words  # noqa: E402
from treetok.errors import TreetokError  # noqa: E402
from treetok.text import profile_named  # noqa: E402

TINY = NetworkConfig(layers=2, dimension=16, heads=2, feed_forward=32, dropout=0.3)

# ---- sentence pairs


def test_pairs_are_read_line_by_line(tmp_path):
    (tmp_path / "a.en").write_text("One.\n\n Two. \nThree.", encoding="utf-8")
    (tmp_path / "a.de").write_text("Eins.\nLeer.\nZwei.\nDrei.\n", encoding="utf-8")
    assert read_pairs(tmp_path, "a") == [("One.", "Eins."), ("Two.", "Zwei."), ("Three.", "Drei.")]
    (tmp_path / "a.de").write_text("Eins.\nZwei.\n", encoding="utf-8")
    with pytest.raises(TreetokError, match="4 English lines, but 2 German"):
        read_pairs(tmp_path, "a")
    with pytest.raises(TreetokError, match=r"no b\.en"):
        read_pairs(tmp_path, "b")


def test_near_duplicates():
    held_out = HeldOutSentences(["A man in a red hat is running.", "Well, go on!", "No."])
    assert held_out.has("a MAN in a red hat — is running") and held_out.has("well go on") and held_out.has("NO")
    assert not held_out.has("A man in a hat is running.") and not held_out.has("No, no.")
    # Five sequences of four words, of which four are shared: four of six.
    assert held_out.has_similar("A man in a red hat is sitting.")
    # Three are shared: three of seven.
    assert not held_out.has_similar("The woman in a red hat is running.")
    assert not held_out.has_similar("A man in a blue hat is running.") and not held_out.has_similar("well go")


words = st.lists(st.sampled_from(["a", "b", "c"]), max_size=9).map(" ".join)


@given(words, st.lists(words, min_size=1, max_size=4))
def test_similar_sentences_share_half_of_their_sequences(sentence, held_out):
    def grams(text):
        parts = text.split()
        return {tuple(parts[start : start + 4]) for start in range(len(parts) - 3)}

    def overlap(other):
        both = grams(sentence) | grams(other)
        return len(grams(sentence) & grams(other)) / len(both) if both else 0

    assert HeldOutSentences(held_out).has_similar(sentence) == (max(map(overlap, held_out)) >= 0.5)


def test_training_is_kept_apart_from_development_and_tests():
    tests = {"one": [Pair("Where is the old station?", "Wo ist der alte Bahnhof?")]}
    development = [Pair("I see a house.", "Ich sehe ein Haus."), Pair("where is the OLD station", "Wo?")]
    training = [
        Pair("A dog.", "Ein Hund."),
        Pair("Where's the old railway station?", "Wo ist der alte Bahnhof!"),
        Pair("Where is the old station now?", "Wo ist er?"),
        Pair("There is a house.", "Ich sehe ein Haus"),
        Pair("x" * 30, "y"),
    ]
    sets = kept_apart(training, development, tests, most_bytes=25)
    assert sets.training == training[:1]
    assert sets.development == development[:1]
    assert list(sets.removed.values()) == [1, 1, 2]
    assert [reason.split()[:2] for reason in sets.removed] == [
        ["of", "more"],
        ["sharing", "half"],
        ["with", "the"],
    ]


def test_a_part_is_held_out_by_its_hash():
    choose = random.Random(1)
    pairs = [made_up_pair(choose) for _ in range(60)]
    pairs.append(Pair(pairs[0].english.upper(), "Etwas anderes."))
    held_out, rest = held_out_part(pairs, 20)
    assert len(held_out) == len({normalized(pair.english) for pair in held_out}) == 20
    assert sorted(held_out + rest) == sorted(pairs)
    # The choice does not depend on the order, nor on other sentences being there.
    again, _ = held_out_part(pairs[::-1], 20)
    assert {normalized(pair.english) for pair in again} == {normalized(pair.english) for pair in held_out}
    more, _ = held_out_part(pairs, 30)
    assert set(held_out) < set(more)
    different = len({normalized(pair.english) for pair in pairs})
    with pytest.raises(TreetokError, match=f"^{different} cannot be held out of {different} different ones$"):
        held_out_part(pairs, different)


def test_none_need_be_held_out(tmp_path):
    write_made_up_pairs(tmp_path)
    options = argparse.Namespace(
        data=tmp_path,
        training_sets="captions,sentences",
        development_set="development",
        test_sets="test",
        held_out_from="sentences",
        held_out_sentences=0,
        most_bytes=500,
    )
    assert list(pair_sets(options).tests) == ["test"]
    options.held_out_sentences = 40
    assert list(pair_sets(options).tests) == ["test", "sentences"]
    options.held_out_sentences = 400
    with pytest.raises(TreetokError, match=r"^--held-out-sentences: 400 cannot be held .* in 'sentences'$"):
        pair_sets(options)


# ---- tokenizers and ids


def test_bpe_is_lossless_and_can_be_loaded(tmp_path):
    texts = [" Der große Hund bellt.", " Das Mädchen sieht einen Hund."] * 3
    bpe = BpeSubwords.train(count_words(texts, profile_named("lossless")).counts(), 290)
    assert len(bpe.names) <= bpe.vocab_size == 290
    texts.append(" Ein Ægäisches 東京 Häuschen 🙂?")
    ids = bpe.encode_batch(texts)
    assert max(itertools.chain(*ids)) < 290
    save_subwords(bpe, tmp_path, "de", "bpe")
    loaded = load_subwords(tmp_path, "de", "bpe")
    assert [loaded.decode(of_text) for of_text in ids] == texts == [bpe.decode(of_text) for of_text in ids]
    assert len(ids[0]) < len(texts[0]) / 2


def test_encoded_pairs_are_saved(tmp_path):
    of_parts = {
        (part, language, kind): EncodedSentences.of_tokens([[len(part)], [], [3, 5]])
        for part in ("training", "development", "news")
        for language in ("en", "de")
        for kind in ("bpe", "treetok")
    }
    sizes = dict.fromkeys(itertools.product(("en", "de"), ("bpe", "treetok")), 20)
    pairs = EncodedPairs(of_parts, np.array([4, 5, 6]), 17, sizes)
    pairs.save(tmp_path / "pairs.npz")
    loaded = EncodedPairs.load(tmp_path / "pairs.npz")
    assert loaded.tests == ["news"] and loaded.vocab_sizes == sizes and loaded.development_bytes == 17
    assert loaded.digest("bpe", "treetok") == pairs.digest("bpe", "treetok") == pairs.digest("bpe", "treetok")
    of_parts["development", "de", "bpe"].flat[0] += 1
    assert pairs.digest("bpe", "treetok") == loaded.digest("bpe", "treetok")
    assert pairs.digest("bpe", "bpe") != loaded.digest("bpe", "bpe")


# ---- the network


def tiny_network(seed=0, vocabulary=(11, 13)):
    torch.manual_seed(seed)
    network = Transformer(TINY, *vocabulary)
    # Far from uniform, so that hypotheses differ, but not such that all end at once.
    with torch.no_grad():
        network.target_embedding.weight *= 3
        network.target_embedding.weight[END] /= 10
    return network.eval()


def random_ids(rows, width, vocabulary, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2, vocabulary + 2, (rows, width), generator=generator)


def test_no_token_depends_on_later_ones():
    network = tiny_network()
    source, target = random_ids(2, 5, 11), random_ids(2, 7, 13)
    logits = network(source, target)
    for place in range(7):
        changed = target.clone()
        changed[:, place] = (changed[:, place] - 1) % 13 + 2
        of_changed = network(source, changed)
        # The token at a place is predicted from those before it.
        assert torch.equal(of_changed[:, : place + 1], logits[:, : place + 1])
        if place < 6:
            assert not torch.allclose(of_changed[:, place + 1], logits[:, place + 1])
    changed = source.clone()
    changed[:, 4] = (changed[:, 4] - 1) % 11 + 2
    assert not torch.allclose(network(changed, target)[:, 0], logits[:, 0])


def test_padding_changes_nothing():
    network = tiny_network()
    source, target = random_ids(3, 5, 11), random_ids(3, 6, 13)
    logits = network(source, target)
    padded_source = torch.nn.functional.pad(source, (0, 4), value=PADDING)
    padded_target = torch.nn.functional.pad(target, (0, 3), value=PADDING)
    of_padded = network(padded_source, padded_target)[:, :6]
    torch.testing.assert_close(of_padded, logits, atol=1e-5, rtol=1e-5)

    sentences = EncodedSentences.of_tokens([[3], [4, 5, 6, 7, 8, 1, 2], [], [9] * 20, [1, 2]])
    together = translate(network, sentences, SearchConfig(width=3, sentences=5), "cpu")
    alone = translate(network, sentences, SearchConfig(width=3, sentences=1), "cpu")
    assert together == alone and len(set(map(tuple, together))) > 1


def test_steps_with_kept_keys_give_the_logits_of_whole_targets():
    network = tiny_network()
    source, target = random_ids(2, 5, 11), random_ids(2, 6, 13)
    outputs = network.outputs
    expected = network(source, target)[..., :outputs].clone()
    expected[..., PADDING] = -torch.inf
    hypotheses = TransformerHypotheses(network, source, width=3)
    rows = target.repeat_interleave(3, 0)
    # The second hypothesis of each sentence differs; the third goes astray, and then goes on from the second.
    rows[1::3, 0] = rows[2::3, 0] = 5
    other = network(source, rows[1::3])[..., :outputs].clone()
    other[..., PADDING] = -torch.inf
    last = torch.full((6,), END)
    for place in range(6):
        found = hypotheses.step(last)
        torch.testing.assert_close(found[::3, :outputs], expected[:, place].log_softmax(-1), atol=1e-5, rtol=1e-5)
        for number in (1, 2):
            of_second = other[:, place].log_softmax(-1)
            is_close = torch.allclose(found[number::3, :outputs], of_second, atol=1e-5, rtol=1e-5)
            assert is_close == ((number, place) != (2, 1))
        assert (found[:, outputs:] == -torch.inf).all() and (found[:, PADDING] == -torch.inf).all()
        last = rows[:, place].clone()
        last[2::3] = 7 if place == 0 else last[2::3]
        if place == 1:
            hypotheses.keep(torch.tensor([0, 1, 1, 3, 4, 4]))


# ---- beam search


class TableHypotheses:
    """Log-probabilities that depend on the sentence and on all tokens before, drawn at random."""

    def __init__(self, seeds, width, vocabulary):
        self.rows = [(seed, ()) for seed in seeds for _ in range(width)]
        self.vocabulary = vocabulary
        self.is_first = True

    def log_probabilities(self, seed, tokens):
        choose = random.Random(repr((seed, tokens)))
        logits = torch.tensor([choose.gauss(0, 1.5) for _ in range(self.vocabulary)])
        logits[PADDING] = -torch.inf
        return logits.log_softmax(-1)

    def step(self, token_R):
        if not self.is_first:
            pairs = zip(self.rows, token_R.tolist(), strict=True)
            self.rows = [(seed, (*tokens, token)) for (seed, tokens), token in pairs]
        self.is_first = False
        return torch.stack([self.log_probabilities(*row) for row in self.rows])

    def keep(self, row_R):
        self.rows = [self.rows[row] for row in row_R.tolist()]


def best_of_all(table, seed, limit, exponent):
    """The best of all sequences, by trying them."""
    best, best_score = None, -math.inf
    for length in range(limit + 1):
        for tokens in itertools.product(range(2, table.vocabulary), repeat=length):
            ids = [*tokens, END]
            total = sum(table.log_probabilities(seed, tokens[:n])[ids[n]].item() for n in range(length + 1))
            score = total / (length + 1) ** exponent
            if score > best_score:
                best, best_score = list(tokens), score
    return best


def greedy(table, seed, limit):
    tokens = ()
    while len(tokens) < limit:
        token = int(table.log_probabilities(seed, tokens).argmax())
        if token == END:
            break
        tokens = (*tokens, token)
    return list(tokens)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=4), st.sampled_from([0.0, 0.6, 1.0]), st.data())
def test_a_beam_of_all_sequences_finds_the_best(seeds, exponent, data):
    limits = data.draw(st.lists(st.integers(0, 3), min_size=len(seeds), max_size=len(seeds)))
    table = TableHypotheses(seeds, 60, vocabulary=5)
    found = beam_search(table, torch.tensor(limits), 60, exponent)
    known = [best_of_all(table, seed, limit, exponent) for seed, limit in zip(seeds, limits, strict=True)]
    assert found == known


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=4), st.data())
def test_a_beam_of_one_is_greedy(seeds, data):
    limits = data.draw(st.lists(st.integers(0, 12), min_size=len(seeds), max_size=len(seeds)))
    table = TableHypotheses(seeds, 1, vocabulary=6)
    expected = [greedy(table, seed, limit) for seed, limit in zip(seeds, limits, strict=True)]
    assert beam_search(table, torch.tensor(limits), 1) == expected


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=4), st.integers(1, 4))
def test_sentences_are_searched_independently(seeds, width):
    limits = [3 + 2 * number for number in range(len(seeds))]
    together = beam_search(TableHypotheses(seeds, width, 6), torch.tensor(limits), width)
    for seed, limit, found in zip(seeds, limits, together, strict=True):
        assert beam_search(TableHypotheses([seed], width, 6), torch.tensor([limit]), width) == [found]


def test_wider_beams_find_the_best_more_often():
    seeds, limit = list(range(40)), 4
    table = TableHypotheses(seeds, 1, vocabulary=6)
    best = [best_of_all(table, seed, limit, 1.0) for seed in seeds]

    def times_found(width):
        found = beam_search(TableHypotheses(seeds, width, vocabulary=6), torch.full((40,), limit), width)
        return sum(one == other for one, other in zip(found, best, strict=True))

    assert times_found(1) < times_found(4) <= times_found(20) == 40


# ---- training


def test_every_epoch_has_every_pair_once_whatever_the_tokenizer():
    sizes = np.array([10, 25, 40, 5, 90, 33, 21, 60])
    config = TrainingConfig(epochs=3, bytes_per_step=80)
    batches = planned_batches(sizes, config, seed=1)
    assert sorted(itertools.chain(*batches)) == sorted([*range(8)] * 3)
    assert batches != planned_batches(sizes, config, seed=2)


def reversed_sentences(count, seed):
    """A little language: translations are the same tokens in the opposite order."""
    choose = random.Random(seed)
    sentences = [[choose.randrange(8) for _ in range(choose.randint(1, 4))] for _ in range(count)]
    return EncodedPairing(
        EncodedSentences.of_tokens(sentences), EncodedSentences.of_tokens([s[::-1] for s in sentences])
    )


def test_it_learns_to_translate_and_keeps_the_best_weights():
    training, development = reversed_sentences(600, 0), reversed_sentences(60, 1)
    torch.manual_seed(0)
    network = Transformer(NetworkConfig(1, 32, 2, 64, 0.0), 8, 8)
    config = TrainingConfig(epochs=20, bytes_per_step=200, learning_rate=5e-3)
    size = int(development.target.lengths.sum())
    trained = train(network, training, training.source.lengths, development, size, config, 0, "cpu")
    assert len(trained.bits_per_byte) == 20 and trained.bits_per_byte[0] > 2 * min(trained.bits_per_byte)
    assert trained.bits_per_byte[trained.best_epoch - 1] == min(trained.bits_per_byte)
    now = total_nats(network, development, "cpu") / size / math.log(2)
    assert now == pytest.approx(min(trained.bits_per_byte), rel=1e-6)
    found = translate(network, development.source, SearchConfig(), "cpu")
    expected = [
        (development.target.flat[start : stop - 1] - 2).tolist()
        for start, stop in itertools.pairwise(development.target.starts)
    ]
    assert sum(a == b for a, b in zip(found, expected, strict=True)) > 50


def test_weights_that_get_worse_are_not_kept():
    training, development = reversed_sentences(80, 0), reversed_sentences(40, 1)
    torch.manual_seed(0)
    network = Transformer(NetworkConfig(1, 32, 2, 64, 0.0), 8, 8)
    # So few pairs are learned by heart.
    config = TrainingConfig(epochs=40, bytes_per_step=80, learning_rate=1e-2, label_smoothing=0.0)
    trained = train(network, training, training.source.lengths, development, 100, config, 0, "cpu")
    assert trained.best_epoch < 40
    now = total_nats(network, development, "cpu") / 100 / math.log(2)
    assert now == pytest.approx(min(trained.bits_per_byte), rel=1e-6)
    assert now < trained.bits_per_byte[-1]


def test_translations_are_added_line_by_line(tmp_path):
    file = tmp_path / "translations.jsonl"
    assert finished_translations(file) == {}
    add_translations(file, [{"identity": "a", "n": 1}])
    with file.open("a", encoding="utf-8") as lines:
        lines.write('{"identity": "b", "n"')
    add_translations(file, [{"identity": "c", "n": 3}])
    assert finished_translations(file) == {"a": {"identity": "a", "n": 1}, "c": {"identity": "c", "n": 3}}


# ---- scores

REFERENCES = [
    "Der alte Mann sieht eine Katze .",
    "Das Kind hört heute den Hund .",
    "Die Frau malt ein Pferd im Garten .",
]


@pytest.fixture
def scores():
    pytest.importorskip("sacrebleu")
    from transformer_translation import scores

    return scores


def worse(sentences, seed, share):
    choose = random.Random(seed)
    return [" ".join("x" if choose.random() < share else word for word in s.split()) for s in sentences]


def test_sums_over_sentences_give_the_scores_of_sacrebleu(scores):
    from sacrebleu.metrics import BLEU, CHRF

    references = REFERENCES * 5
    translations = worse(references, 0, 0.2)
    for name, metric in (("BLEU", BLEU()), ("chrF", CHRF())):
        counts = scores.SentenceCounts(name, translations, references)
        assert counts.score() == pytest.approx(metric.corpus_score(translations, [references]).score)
        # Sentences drawn several times count as often.
        drawn = [0, 0, 4, 7, 7, 7]
        times = np.bincount(drawn, minlength=15)[None]
        chosen = [translations[n] for n in drawn], [[references[n] for n in drawn]]
        [resampled] = counts.resampled(times, slice(0, 15))
        assert resampled == pytest.approx(metric.corpus_score(*chosen).score)


def test_systems_are_compared_by_the_mean_over_seeds(scores):
    references = REFERENCES * 30
    systems = {
        "first": [scores.SentenceCounts("BLEU", worse(references, s, 0.20), references) for s in (1, 2)],
        "same": [scores.SentenceCounts("BLEU", worse(references, s, 0.20), references) for s in (2, 1)],
        "better": [scores.SentenceCounts("BLEU", worse(references, s, 0.08), references) for s in (5, 6)],
    }
    compared = scores.compare(systems, slice(0, 90), resamples=300)
    assert compared["first"].difference == 0
    assert compared["same"].difference == pytest.approx(0) and compared["same"].p_value == 1
    better = compared["better"]
    assert better.score == pytest.approx(np.mean([one.score() for one in systems["better"]]))
    assert better.difference == pytest.approx(better.score - compared["first"].score) and better.p_value < 0.01
    assert 0 < better.low < better.difference < better.high
    part = scores.compare(systems, slice(10, 40), resamples=50)["better"].score
    by_hand = [
        scores.SentenceCounts("BLEU", worse(references, s, 0.08)[10:40], references[10:40]).score() for s in (5, 6)
    ]
    assert part == pytest.approx(np.mean(by_hand))


def test_small_p_values_are_as_rare_as_they_should_be(scores):
    """Systems that are equally good: p-values are spread evenly, and intervals have 0 in them 95 times of 100."""
    references = REFERENCES * 30
    counts = [scores.SentenceCounts("chrF", worse(references, seed, 0.2), references) for seed in range(160)]
    compared = [
        scores.compare({"one": counts[n : n + 2], "other": counts[n + 2 : n + 4]}, slice(0, 90), 100)["other"]
        for n in range(0, 160, 4)
    ]
    p_values = np.array([one.p_value for one in compared])
    assert 0.35 < p_values.mean() < 0.65 and (p_values < 0.05).mean() <= 0.15 < (p_values < 0.5).mean()
    assert np.mean([one.low < 0 < one.high for one in compared]) >= 0.85


# ---- the command


def run(*arguments):
    command = [sys.executable, ROOT / "experiments/translation.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command(tmp_path):
    """Step by step, stopped in between, and with two models at once."""
    pytest.importorskip("sacrebleu")
    folder, out = tmp_path / "folder", tmp_path / "translation.json"
    command = ["--quick", "--folder", folder, "--out", out, "--epochs", 2, "--resamples", 50]
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" on CPU; ") == 6
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [table["title"] for table in result["tables"]] == ["BLEU", "chrF", "Tokens and training"]
    names = ["BPE", "TreeTok", "TreeTok for German only"]
    for table in result["tables"]:
        assert [row[0] for row in table["grid"][1:]] == names
    bleu = result["tables"][0]["grid"]
    assert bleu[0] == ["system", "test", "sentences", "all", "difference, all", "all, each seed"]
    for row in bleu[1:]:
        seeds = [float(value) for value in row[5].split(", ")]
        assert len(seeds) == 2 and float(row[3].split()[0]) == pytest.approx(sum(seeds) / 2, abs=0.01)
    # What is measured on development text is not what is measured before training: about 8 bits.
    for row in result["tables"][2]["grid"][1:]:
        assert all(float(bits) < 3 for bits in row[4].split(", "))
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    assert texts["pairs"]["training"] + sum(texts["removed"].values()) == 660
    assert [len(pairs) for pairs in texts["tests"].values()] == [40, 40]
    assert str(tmp_path) not in json.dumps(result)

    # A run that was stopped in the middle of a line goes on; what is there is not trained again.
    translations = folder / "translations.jsonl"
    lines = translations.read_text(encoding="utf-8").splitlines(keepends=True)
    translations.write_text("".join(lines[:4]) + lines[4][:100], encoding="utf-8")
    early = run(*command, "--score")
    assert early.returncode == 1 and "no translations by TreeTok, seed 1" in early.stderr
    again = run(*command, "--train", "--jobs", 2)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count(" on CPU; ") == 2
    kept = translations.read_bytes()
    scored = run(*command)
    assert scored.returncode == 0, scored.stderr
    assert translations.read_bytes() == kept
    assert without_seconds(json.loads(out.read_text(encoding="utf-8"))) == without_seconds(result)

    other = run(*command, "--vocab-size", 340)
    assert other.returncode == 1 and "prepared with other options" in other.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--german-trees", "nowhere"], "nowhere"),
        (["--held-out-sentences", -1], "--held-out-sentences must be from 0 to 1000000, not -1"),
        (
            ["--held-out-from", "foo"],
            "--held-out-from must be one of --training-sets (captions, sentences), not 'foo'",
        ),
        (["--seeds", 0], "--seeds must be from 1 to 1000, not 0"),
        (["--dimension", 0], "--dimension must be from 1 to 8192, not 0"),
        (["--dimension", 6], "--dimension must be even and a multiple of --heads, 4, not 6"),
        (["--dimension", 7, "--heads", 7], "--dimension must be even and a multiple of --heads, 7, not 7"),
        (["--feed-forward", 10**9], "--feed-forward must be from 1 to 65536, not 1000000000"),
        (["--dropout", 1], "--dropout must be at least 0 and below 1, not 1.0"),
        (["--learning-rate", "nan"], "--learning-rate must be above 0 and finite, not nan"),
        (["--alignment", 2], "--alignment must be a number of at least 0 and at most 1, not 2.0"),
        (
            ["--translations", "/dev/null"],
            "--translations must be a file that can be written, or not be there yet",
        ),
        (["--translations", "."], "--translations must be a file that can be written, or not be there yet"),
        (["--translations", f"{__file__}/x"], "it is a file, not a directory"),
    ],
)
def test_options_are_checked_before_any_work(monkeypatch, tmp_path, options, said):
    command = ["translation.py", "--quick", "--folder", tmp_path / "folder", "--out", tmp_path / "out.json"]
    monkeypatch.setattr(sys, "argv", list(map(str, [*command, *options])))
    with pytest.raises(TreetokError, match=re.escape(said)):
        translation.main()
    assert not list(tmp_path.iterdir())


def test_the_device_is_checked_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    command = ["--quick", "--folder", tmp_path / "folder", "--out", tmp_path / "out.json", "--device"]
    unknown = run(*command, "foo")
    assert unknown.returncode == 2 and "argument --device: invalid choice: 'foo'" in unknown.stderr
    missing = run(*command, "cuda")
    assert missing.returncode == 1 and "no GPU for device 'cuda'" in missing.stderr
    assert not list(tmp_path.iterdir())


def without_seconds(result):
    for row in result["tables"][-1]["grid"]:
        row.pop()
    return {key: value for key, value in result.items() if key != "command"}
