"""Tokenizers by path or name: Hugging Face, SentencePiece, tiktoken, TreeTok, and word tables."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SAMPLE_FILES
from evaluate.strings_to_segment import STRINGS
from treetok import TreeTokenizer, TreetokError
from treetok.evaluate.baselines.pretrained import (
    HuggingFaceTokenizer,
    SentencePieceTokenizer,
    TiktokenTokenizer,
    slices,
)
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.evaluate.load_tokenizer import load_tokenizer

SIZE = 1200


def byte_level_json(folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    train(tokenizer, trainers.BpeTrainer(vocab_size=SIZE, initial_alphabet=alphabet, show_progress=False))
    # Saved with the tokenizer: one that stops after three tokens would look very short.
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
def from_file(request, tmp_path_factory) -> EvalTokenizer:
    return load_tokenizer(request.param(tmp_path_factory.mktemp(request.param.__name__)))


@pytest.mark.parametrize("string", STRINGS)
def test_pieces_from_files_join_to_the_word(from_file, string):
    pieces = from_file.segment(string)
    assert "".join(pieces) == string.strip(), from_file.name
    assert all(pieces)


@given(st.text(max_size=12).filter(str.strip))
def test_pieces_from_files_join_to_any_string(from_file, string):
    assert "".join(from_file.segment(string)) == string


def test_files_have_the_interface_and_their_size(from_file):
    assert isinstance(from_file, EvalTokenizer)
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
    # Characters that no token covers go with the next token, or with the last.
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
    tokenizer = TiktokenTokenizer(small_encoding(), "small")
    assert tokenizer.vocabulary_size == 301
    assert tokenizer.segment("the") == ["the"]
    assert tokenizer.segment("light") == ["l", "ight"]
    assert tokenizer.segment("thé") == ["th", "é"]
    # The bytes of a character are one piece, and tokens that share a character are not cut apart.
    assert tokenizer.segment("京") == ["京"]
    assert tokenizer.segment("東京") == ["東京"]
    assert tokenizer.tokenize("the<|end|>")[0] == "the"
    assert "<0xE4>" in tokenizer.tokenize("京")
    for string in STRINGS:
        assert "".join(tokenizer.segment(string)) == string.strip()


def test_unknown_tiktoken_encodings_are_refused():
    pytest.importorskip("tiktoken")
    with pytest.raises(TreetokError, match=r"no encoding 'gpt17': choose one of .*cl100k_base"):
        load_tokenizer("tiktoken:gpt17")


def test_a_failed_download_is_one_line(monkeypatch):
    tiktoken = pytest.importorskip("tiktoken")

    def fail(name):
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(tiktoken, "get_encoding", fail)
    with pytest.raises(TreetokError, match="cannot load the encoding 'gpt2': no route to host"):
        load_tokenizer("tiktoken:gpt2")


# ---- finding them


def test_tokenizers_by_name_and_path(tmp_path, uncased):
    assert load_tokenizer("en").name == "TreeTok en"
    assert load_tokenizer("en", name="ours").name == "ours"
    uncased.save(tmp_path / "mine")
    mine = load_tokenizer(tmp_path / "mine")
    assert isinstance(mine, NamedTreeTokenizer) and mine.name == "TreeTok mine"
    assert mine.vocabulary_size == uncased.vocab_size
    assert mine.segment("Lighthouses") == uncased.segment("lighthouses")
    assert mine.tokenize("the lighthouses") == uncased.tokenize("the lighthouses")
    # A directory as Hugging Face keeps tokenizers.
    (tmp_path / "theirs").mkdir()
    theirs = load_tokenizer(byte_level_json(tmp_path / "theirs"))
    assert isinstance(theirs, HuggingFaceTokenizer) and theirs.name == "theirs"
    spm = load_tokenizer(str(sentencepiece_model(tmp_path)))
    assert isinstance(spm, SentencePieceTokenizer) and spm.name == "small"


def test_treetok_tokenizers_may_have_trees_of_their_own(tmp_path):
    assert isinstance(NamedTreeTokenizer(TreeTokenizer.load("en")).segment("word"), list)
    with pytest.raises(TreetokError):
        load_tokenizer(tmp_path)


def test_what_cannot_be_loaded_is_named(tmp_path):
    for spec in ("no-such.json", "no-such.model"):
        with pytest.raises(TreetokError, match=rf"cannot read .*{spec}: No such file"):
            load_tokenizer(tmp_path / spec)
    with pytest.raises(TreetokError, match="no-such-tokenizer"):
        load_tokenizer("no-such-tokenizer")
    for spec in (3, "", b"en"):
        with pytest.raises(TreetokError, match="a name or a path"):
            load_tokenizer(spec)
    (tmp_path / "bad.json").write_text(json.dumps({"model": {}}))
    with pytest.raises(TreetokError, match=r"bad\.json is not a Hugging Face tokenizer\.json: \S+"):
        load_tokenizer(tmp_path / "bad.json")
    (tmp_path / "bad.model").write_bytes(b"nothing of the kind")
    with pytest.raises(TreetokError, match=r"bad\.model is not a SentencePiece model: \S+"):
        load_tokenizer(tmp_path / "bad.model")


def test_a_word_table_segments_as_the_tokenizer_it_was_made_from(tmp_path):
    from treetok.evaluate.baselines.subword import train_baseline
    from treetok.evaluate.baselines.word_table import save_word_table

    words = {stem + ending: 5 for stem in ("walk", "jump", "look") for ending in ("", "s", "ed", "ing")}
    baseline = train_baseline("wordpiece", words, 60, "uncased")
    text = "Looks walking jumped qx"
    for name in ("w.cuts", "w.cuts.xz"):
        save_word_table(baseline, ["looks", "walking", "jumped", "qx"], baseline.profile, tmp_path / name)
        table = load_tokenizer(tmp_path / name)
        assert (table.name, table.vocabulary_size) == (baseline.name, baseline.vocabulary_size)
        assert table.tokenize(text) == baseline.tokenize(text)
        assert [table.segment(word) for word in text.split()] == [baseline.segment(word) for word in text.split()]
    with pytest.raises(TreetokError, match="has no entry for 'looked'"):
        table.tokenize("looked")


HEAD_OF_TABLE = '{"name": "x", "profile": "uncased", "vocabulary_size": 3}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: not the head"),
        ("[]\n", "line 1: not the head"),
        ('{"name": "x", "profile": "no", "vocabulary_size": 3}\n', "line 1: .*unknown profile"),
        ('{"name": "", "profile": "uncased", "vocabulary_size": 3}\n', "line 1: .*its name is"),
        ('{"name": "x", "profile": "uncased", "vocabulary_size": 1}\n["ab", ["a", "b"]]\n', "more than its"),
        (HEAD_OF_TABLE + '["a", "a"]\n', "line 2: expected a word"),
        (
            HEAD_OF_TABLE + '["a", ["a"]]\n["a", ["a"]]',
            "line 3: .*twice",
        ),
        ('{"name": "x", "profile": "uncased", "vocabulary_size": "3"}\n', "line 1: not the head"),
        (
            HEAD_OF_TABLE + '["ab", ["a"]]\n',
            "line 2: the pieces do not",
        ),
        (
            HEAD_OF_TABLE + '["ab", []]\n',
            "line 2: words, tokens and pieces",
        ),
        (HEAD_OF_TABLE + '["ab", 5]\n', "line 2: "),
        (HEAD_OF_TABLE + '["ab"', "line 2: "),
    ],
)
def test_bad_tables_are_refused_with_the_line(tmp_path, content, message):
    path = tmp_path / "bad.cuts"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TreetokError, match=message):
        load_tokenizer(path)
