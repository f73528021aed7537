"""Rivals: whatever they are made of, their pieces join to the word, and the same text gives the same rival."""

import json
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.corpus import count_words
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.rivals.files import (
    HuggingFaceContestant,
    SentencePieceContestant,
    TiktokenContestant,
    load_contestant,
    slices,
)
from treetok.evaluate.rivals.morfessor_baseline import DAMPENINGS, train_morfessor
from treetok.evaluate.rivals.trained import NAMES, train_rival
from treetok.evaluate.rivals.treetok_tokenizer import TreeTokContestant
from treetok.text import profile_named

SIZE = 1200
# Whole words, several words, accents, unseen letters, other writing, a combining mark, nothing at all.
STRINGS = [
    "lighthouses",
    "unhappiness",
    "fielder's",
    "chain-gang",
    "naïve",
    "Éclair",
    "xœx",
    "東京タワー",
    "ð" * 3,
    "e\u0301a",
    "🙂",
    "2024",
    "x" * 200,
    "",
    " ",
]


@pytest.fixture(scope="module")
def word_counts() -> dict[str, dict[str, int]]:
    return {name: count_words(SAMPLE_FILES, profile_named(name)).counts() for name in ("uncased", "lossless")}


@pytest.fixture(scope="module")
def rivals(word_counts) -> dict[str, Contestant]:
    """Everything that can be trained, with every profile."""
    trained = {
        f"{kind} {profile} {cuts}": train_rival(kind, word_counts[profile], SIZE, profile, cuts)
        for kind in NAMES
        for profile, cuts in (("uncased", "equal"), ("uncased", "whitespace"), ("lossless", "equal"))
    }
    for profile in word_counts:
        trained[f"morfessor {profile}"] = train_morfessor(word_counts[profile], profile, most_types=1000)
    return trained


def without_spaces(text: str) -> str:
    return "".join(text.split())


# ---- trained here


def test_rivals_are_contestants(rivals, uncased):
    for rival in [*rivals.values(), TreeTokContestant(uncased)]:
        assert isinstance(rival, Contestant)


def test_vocabularies_have_the_size_asked_for(rivals):
    for name, rival in rivals.items():
        if not name.startswith("morfessor"):
            assert rival.vocabulary_size == SIZE, name


def test_size_counts_what_treetok_counts(word_counts):
    """With as many entries as the characters and what is set aside for special tokens and bytes need, and no more,
    words are cut into characters by TreeTok and by its rivals."""
    words = {"abab": 10, "ba": 5}
    assert train_rival("bpe", words, 5 + 2, "uncased").segment("abab") == list("abab")
    assert train_rival("unigram", words, 5 + 2, "uncased").segment("abab") == list("abab")
    assert train_rival("bpe", words, 1 + 256, "lossless").segment("abab") == list("abab")
    for kind in ("bpe", "unigram"):
        with pytest.raises(TreetokError, match="at least 7"):
            train_rival(kind, words, 6, "uncased")
        with pytest.raises(TreetokError, match="at least 257"):
            train_rival(kind, words, 256, "lossless")


def test_a_small_text_gives_a_small_vocabulary():
    rival = train_rival("bpe", {"aab": 3}, 500, "uncased")
    assert rival.vocabulary_size == 5 + len({"a", "b", "aa", "aab"})


@pytest.mark.parametrize("string", STRINGS)
def test_pieces_join_to_the_word(rivals, string):
    for name, rival in rivals.items():
        normal = "".join(rival.profile.split(string))
        pieces = rival.segment(string)
        assert "".join(pieces) == normal, name
        assert all(pieces), name


@given(st.text(max_size=20))
def test_pieces_join_to_any_string(rivals, string):
    for name, rival in rivals.items():
        assert "".join(rival.segment(string)) == "".join(rival.profile.split(string)), name


def test_strings_of_several_words_are_cut_between_them(rivals):
    for kind in NAMES:
        assert rivals[f"{kind} uncased equal"].segment("Walked's")[-1] == "'s"
        assert rivals[f"{kind} uncased whitespace"].segment("Walked's")[-2:] == ["'", "s"]
        assert "-" in rivals[f"{kind} uncased equal"].segment("chain-gang")
    assert rivals["morfessor uncased"].segment("Walked's")[-1] == "'s"


def test_markers_do_not_show_in_pieces_but_tell_tokens_apart(rivals):
    rival = rivals["wordpiece uncased equal"]
    assert not any("#" in piece for piece in rival.segment("lighthouselighthouse"))
    assert any(token.startswith("##") for token in rival.tokenize("lighthouselighthouse"))


def test_unmarked_wordpiece_takes_the_longest_entry_of_bpe(word_counts):
    bpe, greedy = (
        train_rival(kind, word_counts["uncased"], SIZE, "uncased") for kind in ("bpe", "wordpiece-unmarked")
    )
    words = sorted(word_counts["uncased"])
    entries = set(greedy._cut._tokenizer.get_vocab())
    assert entries == set(bpe._cut._tokenizer.get_vocab())
    for word in words[::20]:
        first = greedy.segment(word)[0]
        assert not any(word[:end] in entries for end in range(len(first) + 1, len(word) + 1))


def test_words_are_cut_as_inside_a_sentence(rivals):
    """Behind a space in `lossless`, although the space does not show."""
    for kind in ("bpe", "unigram"):
        rival = rivals[f"{kind} lossless equal"]
        tokens = rival.tokenize("see lighthouses")
        assert "".join(tokens) == "see lighthouses"
        assert [token.strip() for token in tokens[-len(rival.segment("lighthouses")) :]] == rival.segment(
            "lighthouses"
        )


def test_unseen_characters_are_unknown_or_bytes(rivals):
    assert rivals["bpe uncased equal"].tokenize("東京") == ["[UNK]", "[UNK]"]
    assert rivals["bpe lossless equal"].tokenize("東") == ["<0xE6>", "<0x9D>", "<0xB1>"]
    assert rivals["unigram lossless equal"].segment("東") == ["東"]
    # WordPiece gives a word up as a whole, which is not to know it as a whole.
    assert rivals["wordpiece uncased equal"].segment("walk東ed") == ["walk", "東", "ed"]
    assert rivals["wordpiece uncased equal"].segment("walkðed") == list("walkðed")
    assert rivals["wordpiece uncased equal"].tokenize("walkðed") == ["[UNK]"]


def test_text_is_cut_like_its_words(rivals, sample_text):
    text = sample_text[:3000]
    for name, rival in rivals.items():
        tokens = rival.tokenize(text)
        assert len(tokens) >= len(rival.profile.split(text)), name
        if "lossless" in name and not name.startswith("wordpiece "):
            assert "".join(tokens) == text, name
        assert rival.tokenize("") == []


def test_training_twice_gives_the_same_rival(rivals, word_counts):
    """The WordPiece trainer of Hugging Face alone does not."""
    for kind in NAMES:
        backwards = dict(reversed(word_counts["uncased"].items()))
        again = train_rival(kind, backwards, SIZE, "uncased")
        once = rivals[f"{kind} uncased equal"]
        assert [again.segment(word) for word in word_counts["uncased"]] == [
            once.segment(word) for word in word_counts["uncased"]
        ]


def test_what_rivals_refuse(word_counts):
    with pytest.raises(TreetokError, match="unknown kind of rival 'bqe'"):
        train_rival("bqe", {"a": 1}, 10, "uncased")
    with pytest.raises(TreetokError, match="unknown profile"):
        train_rival("bpe", {"a": 1}, 10, "cased")
    with pytest.raises(TreetokError, match="unknown cuts 'blank'"):
        train_rival("bpe", {"a": 1}, 10, "uncased", "blank")
    with pytest.raises(TreetokError, match="go with the profile 'uncased'"):
        train_rival("bpe", {"a": 1}, 500, "lossless", "whitespace")
    with pytest.raises(TreetokError, match="no words"):
        train_rival("bpe", {}, 10, "uncased")
    with pytest.raises(TreetokError, match="whole number"):
        train_rival("bpe", {"a": 1}, 10.5, "uncased")
    with pytest.raises(TreetokError, match="lone surrogate"):
        train_rival("bpe", {"a": 1}, 10, "uncased").segment("\ud800")


def test_missing_packages_are_named(monkeypatch, tmp_path):
    for package in ("tokenizers", "morfessor", "sentencepiece", "tiktoken"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TreetokError, match=r"pip install 'treetok\[eval\]'"):
        train_rival("bpe", {"a": 1}, 10, "uncased")
    with pytest.raises(TreetokError, match=r"pip install 'treetok\[eval\]'"):
        train_morfessor({"a": 1}, "uncased")
    for spec, package in ("x.json", "eval"), ("x.model", "sentencepiece"), ("tiktoken:gpt2", "tiktoken"):
        with pytest.raises(TreetokError, match=f"pip install .*{package}"):
            load_contestant(spec)


# ---- Morfessor

STEMS = ("walk", "jump", "look", "help", "talk", "climb", "paint", "cook")
INFLECTED = {stem + ending: 3 for stem in STEMS for ending in ("", "s", "ed", "ing", "er", "ers")}


def test_morfessor_finds_morphs_and_says_how_many():
    rival = train_morfessor(INFLECTED | {"'s": 50}, "uncased")
    assert rival.segment("Walking") == ["walk", "ing"]
    # A word that it was not trained on.
    assert rival.segment("walking's") == ["walk", "ing", "'s"]
    morphs = {piece for word in INFLECTED for piece in rival.segment(word)}
    assert rival.vocabulary_size == rival.lexicon_size == rival.model.types + 1
    assert len(morphs) <= rival.model.types
    assert rival.name == f"Morfessor Baseline ({rival.lexicon_size} morphs)"


def test_morfessor_keeps_case_and_space_where_the_profile_does():
    rival = train_morfessor(INFLECTED, "lossless")
    assert rival.segment("Walking") == ["Walk", "ing"]
    assert rival.tokenize("We Walking") == [*rival.segment("We"), " Walk", "ing"]
    assert rival.vocabulary_size is None


def test_morfessor_learns_from_the_most_frequent_types_alone():
    rival = train_morfessor({**INFLECTED, "zyx": 1}, "uncased", most_types=len(INFLECTED))
    assert (rival.learned_from, rival.of_types) == (len(INFLECTED), len(INFLECTED) + 1)
    assert f"from the {len(INFLECTED)} most frequent types" in rival.name
    assert rival.segment("zyx") == ["z", "y", "x"]


def test_morfessor_dampens_counts_like_its_command_line():
    assert [DAMPENINGS["log"](count) for count in (1, 2, 3, 100)] == [1, 2, 2, 7]
    frequent = {**INFLECTED, "walking": 10**6}
    assert train_morfessor(frequent, "uncased").segment("walking") == ["walk", "ing"]
    assert train_morfessor(frequent, "uncased", dampening="none").segment("walking") == ["walking"]


def test_morfessor_is_the_same_again_and_leaves_random_numbers_alone(word_counts, rivals, capfd):
    random.seed(3)
    expected = random.random()
    random.seed(3)
    again = train_morfessor(word_counts["uncased"], "uncased", most_types=1000)
    assert random.random() == expected
    for word in word_counts["uncased"]:
        assert again.segment(word) == rivals["morfessor uncased"].segment(word)
    assert capfd.readouterr() == ("", "")


def test_what_morfessor_refuses():
    with pytest.raises(TreetokError, match="unknown dampening 'some'"):
        train_morfessor({"a": 1}, "uncased", dampening="some")
    with pytest.raises(TreetokError, match="no words"):
        train_morfessor({"'s": 1}, "uncased")
    with pytest.raises(TreetokError, match="most_types"):
        train_morfessor({"a": 1}, "uncased", most_types=0)


# ---- from files


def byte_level_json(folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    train(tokenizer, trainers.BpeTrainer(vocab_size=SIZE, initial_alphabet=alphabet, show_progress=False))
    # Left on by whoever saved it: a rival that stops after three tokens would look very short.
    tokenizer.enable_truncation(3)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def bert_json(folder):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[UNK]", "[CLS]", "[SEP]"]
    train(tokenizer, trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=specials, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 1), ("[SEP]", 2)])
    tokenizer.save(str(folder / "bert.json"))
    return folder / "bert.json"


def metaspace_json(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    train(
        tokenizer,
        trainers.UnigramTrainer(vocab_size=SIZE, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False),
    )
    tokenizer.save(str(folder / "metaspace.json"))
    return folder / "metaspace.json"


def train(tokenizer, trainer):
    tokenizer.train_from_iterator([path.read_text(encoding="utf-8") for path in SAMPLE_FILES], trainer)


def sentencepiece_model(folder, **options):
    sentencepiece = pytest.importorskip("sentencepiece")
    sentencepiece.SentencePieceTrainer.train(
        input=[str(path) for path in SAMPLE_FILES],
        model_prefix=str(folder / "small"),
        vocab_size=SIZE,
        minloglevel=2,
        num_threads=1,
        **options,
    )
    return folder / "small.model"


def byte_fallback_model(folder):
    return sentencepiece_model(folder, byte_fallback=True, model_type="bpe", normalization_rule_name="identity")


@pytest.fixture(
    scope="module",
    params=[byte_level_json, bert_json, metaspace_json, sentencepiece_model, byte_fallback_model],
    ids=lambda make: make.__name__,
)
def from_file(request, tmp_path_factory) -> Contestant:
    return load_contestant(request.param(tmp_path_factory.mktemp(request.param.__name__)))


@pytest.mark.parametrize("string", STRINGS)
def test_pieces_from_files_join_to_the_word(from_file, string):
    pieces = from_file.segment(string)
    assert "".join(pieces) == string.strip(), from_file.name
    assert all(pieces)


@given(st.text(max_size=12).filter(str.strip))
def test_pieces_from_files_join_to_any_string(from_file, string):
    assert "".join(from_file.segment(string)) == string


def test_files_are_contestants_of_their_size(from_file):
    assert isinstance(from_file, Contestant)
    assert from_file.vocabulary_size == SIZE


def test_files_cut_words_as_inside_a_sentence(from_file):
    """As the tokens of a sentence say, without their markers."""
    for word in ("the", "light", "walked"):
        tokens = from_file.tokenize(f"see the {word}")
        pieces = from_file.segment(word)
        bare = [token.strip("▁Ġ").removeprefix("##") for token in tokens]
        assert "".join(bare[-len(pieces) :]) == word
        assert [piece for piece in bare[-len(pieces) :] if piece] == pieces or "▁" in tokens
    assert len(from_file.segment("the")) == 1
    assert len(from_file.tokenize("the light walked past the light again and again")) > 3
    assert "[CLS]" not in from_file.tokenize("the light")


def test_files_cut_unseen_characters_whole(from_file):
    assert "".join(from_file.segment("a東b")) == "a東b"
    assert all(piece.isprintable() for piece in from_file.segment("東京🙂"))


def test_slices_of_a_word():
    assert slices("abcd", [(0, 2), (2, 4)]) == ["ab", "cd"]
    # Two tokens share a character: no cut inside either.
    assert slices("aéb", [(0, 2), (1, 3)]) == ["aéb"]
    # What no token covers goes with the token behind it, or with the last.
    assert slices("a-b!", [(0, 1), (2, 3)]) == ["a", "-b!"]
    assert slices("ab", []) == ["ab"]


def small_encoding():
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in (
        b"th",
        b"the",
        b" the",
        b" l",
        b"ig",
        b"ht",
        b"ight",
        "é".encode(),
        b"\x9d\xb1",
        b"\x9d\xb1\xe4",
    ):
        ranks[token] = len(ranks)
    pattern = r" ?\w+|[^\w\s]+|\s+"
    return tiktoken.Encoding("small", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 300})


def test_tiktoken_encodings_cut_words():
    """Made here, because encodings by name have to be downloaded."""
    contestant = TiktokenContestant(small_encoding(), "small")
    assert contestant.vocabulary_size == 301
    assert contestant.segment("the") == ["the"]
    assert contestant.segment("light") == ["l", "ight"]
    assert contestant.segment("thé") == ["th", "é"]
    # The bytes of a character are one piece, and tokens that share a character are not cut apart.
    assert contestant.segment("京") == ["京"]
    assert contestant.segment("東京") == ["東京"]
    assert contestant.tokenize("the<|end|>")[0] == "the"
    assert "<0xE4>" in contestant.tokenize("京")
    for string in STRINGS:
        assert "".join(contestant.segment(string)) == string.strip()


def test_unknown_tiktoken_encodings_are_refused():
    pytest.importorskip("tiktoken")
    with pytest.raises(TreetokError, match=r"no encoding 'gpt17': choose one of .*cl100k_base"):
        load_contestant("tiktoken:gpt17")


def test_a_failed_download_is_one_line(monkeypatch):
    tiktoken = pytest.importorskip("tiktoken")

    def fail(name):
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(tiktoken, "get_encoding", fail)
    with pytest.raises(TreetokError, match="cannot get the encoding 'gpt2': no route to host"):
        load_contestant("tiktoken:gpt2")


# ---- finding them


def test_contestants_by_name_and_path(tmp_path, uncased):
    assert load_contestant("en").name == "TreeTok en"
    assert load_contestant("en", name="ours").name == "ours"
    uncased.save(tmp_path / "mine")
    mine = load_contestant(tmp_path / "mine")
    assert isinstance(mine, TreeTokContestant) and mine.name == "TreeTok mine"
    assert mine.vocabulary_size == uncased.vocab_size
    assert mine.segment("Lighthouses") == uncased.segment("lighthouses")
    assert mine.tokenize("the lighthouses") == uncased.tokenize("the lighthouses")
    # A directory as Hugging Face keeps tokenizers.
    (tmp_path / "theirs").mkdir()
    theirs = load_contestant(byte_level_json(tmp_path / "theirs"))
    assert isinstance(theirs, HuggingFaceContestant) and theirs.name == "theirs"
    spm = load_contestant(str(sentencepiece_model(tmp_path)))
    assert isinstance(spm, SentencePieceContestant) and spm.name == "small"


def test_treetok_tokenizers_may_have_trees_of_their_own(tmp_path):
    assert isinstance(TreeTokContestant(TreeTokenizer.load("en")).segment("word"), list)
    with pytest.raises(TreetokError):
        load_contestant(tmp_path)


def test_what_cannot_be_loaded_is_named(tmp_path):
    for spec in ("no-such.json", "no-such.model"):
        with pytest.raises(TreetokError, match=rf"cannot read .*{spec}: No such file"):
            load_contestant(tmp_path / spec)
    with pytest.raises(TreetokError, match="no-such-tokenizer"):
        load_contestant("no-such-tokenizer")
    for spec in (3, "", b"en"):
        with pytest.raises(TreetokError, match="a name or a path"):
            load_contestant(spec)
    (tmp_path / "bad.json").write_text(json.dumps({"model": {}}))
    with pytest.raises(TreetokError, match=r"bad\.json is not a tokenizer\.json of Hugging Face: \S+"):
        load_contestant(tmp_path / "bad.json")
    (tmp_path / "bad.model").write_bytes(b"nothing of the kind")
    with pytest.raises(TreetokError, match=r"bad\.model is not a model of SentencePiece: \S+"):
        load_contestant(tmp_path / "bad.model")


def test_absurd_sizes_are_refused(word_counts):
    for kind in NAMES:
        with pytest.raises(TreetokError, match="is too large: at most 5000000"):
            train_rival(kind, word_counts["uncased"], 10**9, "uncased")
