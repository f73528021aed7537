"""Sentence likelihood under small language models, on toy sizes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import SAMPLE_FILES
from treetok import TreetokError
from treetok.evaluate.perplexity import PerplexityConfig, measure_likelihood
from treetok.evaluate.perplexity.batches import plan_batches
from treetok.evaluate.perplexity.language_model import TokenLanguageModel
from treetok.evaluate.perplexity.likelihood import score_sentences
from treetok.evaluate.perplexity.windows import END, IGNORED, EncodedSentences
from treetok.evaluate.texts import first_sentences, read_text

TOY = PerplexityConfig(
    layers=1,
    heads=2,
    dimension=16,
    context_length=64,
    characters=20_000,
    characters_per_step=1000,
    learning_rate=1e-2,
    device="cpu",
)


class Words:
    name = "words"
    vocabulary_size = None

    def segment(self, word):
        return [word]

    def tokenize(self, text):
        return text.split()


class Letters(Words):
    name = "letters"

    def segment(self, word):
        return list(word)

    def tokenize(self, text):
        return list(text)


def test_inputs_and_targets():
    ids = {}
    sentences = EncodedSentences(Letters(), ["abc", "", "ca"], ids, "cpu")
    assert ids == {"a": 1, "b": 2, "c": 3}
    inputs, targets = sentences.windows([(0, 0, 4), (1, 0, 1), (2, 0, 3)])
    assert inputs.tolist() == [[END, 1, 2, 3], [END, 0, 0, 0], [END, 3, 1, 0]]
    assert targets.tolist() == [
        [1, 2, 3, END],
        [END, IGNORED, IGNORED, IGNORED],
        [3, 1, END, IGNORED],
    ]
    inputs, targets = sentences.windows([(0, 2, 4), (2, 1, 3)])
    assert inputs.tolist() == [[2, 3], [3, 1]]
    assert targets.tolist() == [[3, END], [1, END]]


def test_nats_are_those_of_one_sentence_at_a_time():
    torch.manual_seed(0)
    texts = ["abcab", "c", "bbbacabccab"]
    sentences = EncodedSentences(Letters(), texts, {}, "cpu")
    model = TokenLanguageModel(5, TOY)
    nats = score_sentences(model, sentences, [len(text) for text in texts], TOY)
    ids = {"a": 1, "b": 2, "c": 3}
    for text, found in zip(texts, nats, strict=True):
        numbers = [END, *(ids[letter] for letter in text), END]
        scores = model(torch.tensor([numbers[:-1]]))[0]
        expected = -sum(scores[place].log_softmax(-1)[number] for place, number in enumerate(numbers[1:]))
        assert found == pytest.approx(expected.item(), rel=1e-5)


def test_sixteen_bits_are_nearly_as_good():
    torch.manual_seed(0)
    texts = ["abcab", "c", "bbbacabccab"]
    sentences = EncodedSentences(Letters(), texts, {}, "cpu")
    model = TokenLanguageModel(5, TOY)
    exact = score_sentences(model, sentences, [5, 1, 11], TOY)
    model.precision = torch.bfloat16
    assert score_sentences(model, sentences, [5, 1, 11], TOY) == pytest.approx(exact, rel=0.01)
    inputs, targets = sentences.windows([(0, 0, 6)])
    model.nats(inputs, targets).sum().backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())


def test_long_sentences_are_measured_token_by_token():
    torch.manual_seed(0)
    small = replace(TOY, context_length=4)
    text = "abcabbacab"
    sentences = EncodedSentences(Letters(), [text], {}, "cpu")
    model = TokenLanguageModel(5, small)
    [found] = score_sentences(model, sentences, [len(text)], small)
    numbers = [END, *("_abc".index(letter) for letter in text), END]
    expected = 0.0
    for target in range(1, len(numbers)):
        # Windows begin at 0, 2, 4...; a token is measured in the first that holds it.
        first = max(0, 2 * math.ceil((target - 4) / 2))
        scores = model(torch.tensor([numbers[first:target]]))[0, -1]
        expected -= scores.log_softmax(-1)[numbers[target]].item()
    assert found == pytest.approx(expected, rel=1e-5)


def test_every_tokenizer_gets_the_same_text_up_to_the_budget():
    lengths = np.random.default_rng(0).integers(1, 200, 300).tolist()
    batches = plan_batches(lengths, TOY)
    characters = [sum(lengths[number] for number in batch) for batch in batches]
    assert TOY.characters <= sum(characters) < TOY.characters + 200
    assert max(characters) < TOY.characters_per_step + 200
    # Nothing is seen a second time before all has been seen once, pool by pool.
    first_epoch = sorted(number for batch in batches for number in batch)[: len(lengths)]
    assert set(first_epoch) <= set(range(len(lengths)))
    assert batches == plan_batches(lengths, TOY)
    assert batches != plan_batches(lengths, replace(TOY, seed=1))


def test_same_seed_same_numbers():
    train = first_sentences(SAMPLE_FILES[1:], 20_000)
    held_out = read_text(SAMPLE_FILES[0]).sentences[:20]
    first = measure_likelihood(Words(), train, held_out, TOY)
    again = measure_likelihood(Words(), train, held_out, TOY)
    other = measure_likelihood(Words(), train, held_out, replace(TOY, seed=1))
    assert first.nats == again.nats != other.nats
    assert first.nats_per_sentence == pytest.approx(sum(first.nats) / len(held_out))
    assert first.tokens == sum(len(sentence.split()) + 1 for sentence in held_out)


def test_what_can_be_learned_is_learned():
    train = ["one two three four", "four three two one"] * 20
    many_steps = replace(TOY, characters_per_step=200)
    regular = measure_likelihood(Words(), train, train[:2], many_steps)
    # Either of two sentences, and nothing else to predict.
    assert regular.nats_per_sentence == pytest.approx(math.log(2), abs=0.1)
    # However it is cut: what is certain costs nothing.
    letters = measure_likelihood(Letters(), train, train[:2], replace(many_steps, characters=60_000))
    assert letters.nats_per_sentence == pytest.approx(math.log(2), abs=0.2)
    assert letters.bits_per_character < 0.1


def test_unseen_tokens_have_a_price():
    train = ["one two"] * 20
    [known] = measure_likelihood(Words(), train, ["one two"], TOY).nats
    [unseen] = measure_likelihood(Words(), train, ["one seven"], TOY).nats
    assert unseen > known + 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dimension": 6}, "^dimension must be a multiple of 4, the number of heads, not 6$"),
        ({"dimension": 0}, "^dimension must be from 1 to 8192, not 0$"),
        ({"dimension": -4}, "^dimension must be from 1 to 8192, not -4$"),
        ({"dimension": 10**8}, "^dimension must be from 1 to 8192, not 100000000$"),
        ({"heads": 0}, "^heads must be from 1 to 128, not 0$"),
        ({"layers": 0}, "^layers must be from 1 to 64, not 0$"),
        ({"layers": 10**6}, "^layers must be from 1 to 64, not 1000000$"),
        ({"characters": 0}, "^characters must be a whole number of 1 or more, not 0$"),
        ({"characters_per_step": 0}, "^characters_per_step must be a whole number of 1 or more"),
        ({"context_length": 0}, "^context_length must be a whole number of 1 or more"),
        ({"seed": -1}, "^seed must be a whole number of 0 or more, not -1$"),
        ({"learning_rate": math.nan}, "^learning_rate must be above 0 and finite, not nan$"),
    ],
)
def test_settings_are_checked(settings, said):
    with pytest.raises(TreetokError, match=said):
        PerplexityConfig(**settings)


def test_no_text_is_refused():
    for train, held_out in (([], ["a"]), (["a"], []), (["", ""], ["a"])):
        with pytest.raises(TreetokError, match="needs sentences"):
            measure_likelihood(Words(), train, held_out, TOY)
