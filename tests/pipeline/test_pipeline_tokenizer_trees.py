"""A tokenizer as a source of trees for another one."""

import pytest

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main

TEXT = "The mistranslated paperbacks of windsurfers. Café tables,  windsurfing twice: windsurfing!\n" * 3


def train(trees, corpus=(TEXT,), vocab_size=300, **options):
    return TreeTokenizer.train(list(corpus), vocab_size, trees, progress=False, **options)


def test_trees_are_those_of_the_tokenizer():
    en = TreeTokenizer.load("en")
    for trees in ("en", en, en.state):
        mine = train(trees)
        assert mine.vocab_size == 300
        # Words of the text, words that only the tokenizer knows, words that neither has seen.
        for word in ("windsurfing", "mistranslated", "blackbirds", "unblorkedly"):
            assert mine.tree(word) == en.tree(word)
        assert mine.settings["trees"] == "tokenizer"
        assert mine.decode(mine.encode(TEXT)) == TEXT
    assert train(en).settings["trees_from"] == "a tokenizer"
    assert train("en").settings["trees_from"] == "en"


def test_it_is_saved_and_is_a_source_again(tmp_path):
    train("en").save(tmp_path / "mine")
    again = train(str(tmp_path / "mine"))
    assert again.tree("blackbirds") == TreeTokenizer.load("en").tree("blackbirds")
    again.save(tmp_path / "again")
    assert TreeTokenizer.load(tmp_path / "again").encode(TEXT) == again.encode(TEXT)


def test_the_trees_of_another_profile():
    uncased = TreeTokenizer.load("en-uncased")
    mine = train("en-uncased", vocab_size=300, profile="lossless")
    assert mine.tree("windsurfing") == uncased.tree("windsurfing")
    # Accents are stripped there, and looked at here.
    assert mine.tree("Café").scores() == uncased.tree("cafe").scores()
    # Also where the text has the word only once.
    once = train("en-uncased", [f"{TEXT} éclair"], vocab_size=300, profile="lossless")
    assert once.state.lexicon.scores("éclair") is not None
    assert once.tree("éclair").scores() == uncased.tree("eclair").scores()
    assert mine.decode(mine.encode(TEXT)) == TEXT
    assert train("en", profile="uncased", vocab_size=70).tree("paperbacks") == TreeTokenizer.load("en").tree(
        "paperbacks"
    )


def test_trees_of_a_tokenizer_with_another_version_of_the_profile():
    """The shipped tokenizers have version 1, what is trained now has version 2."""
    text = f"{TEXT} The friend’s हिन्दी books, {'東京' * 20}tower. " * 2
    en, en_uncased = TreeTokenizer.load("en"), TreeTokenizer.load("en-uncased")
    mine = train("en", [text], vocab_size=400)
    assert mine.decode(mine.encode(text)) == text
    assert mine.tree("windsurfing") == en.tree("windsurfing")
    assert max(map(len, mine.tokenize("東京" * 20))) <= 8
    uncased = train("en-uncased", [text], vocab_size=100, profile="uncased")
    assert uncased.tree("windsurfing") == en_uncased.tree("windsurfing")
    assert uncased.tokenize("friend’s")[-1] == "’s"
    assert en_uncased.tokenize("friend’s")[-1] == "s"
    # And the other way round.
    old = train(mine, [text], vocab_size=400, profile_version=1)
    assert old.decode(old.encode(text)) == text
    assert old.state.profile_version == 1
    assert old.tree("windsurfing") == en.tree("windsurfing")


def test_a_small_text_is_helped_by_the_vocabulary_of_the_tokenizer():
    en = TreeTokenizer.load("en")
    plain, with_prior = (train(en, SAMPLE_FILES, 3000, prior=prior) for prior in (0, 2_000_000))
    # By default the prior does not outweigh the text.
    default = train(en, SAMPLE_FILES, 3000)
    words = default.settings["words_in_corpus"]
    # Rare tokens are rounded away.
    assert 0.8 * words < default.settings["prior_words"] <= words
    assert train(en, SAMPLE_FILES, 3000, prior=words).state.entries == default.state.entries
    counts = dict(en.state.entries)

    def frequent(tokenizer):
        """How often the tokens of a vocabulary occur in much text."""
        return sum(counts.get(entry, 0) for entry, _ in tokenizer.state.entries)

    assert frequent(with_prior) > 1.02 * frequent(plain)
    text = SAMPLE_FILES[0].read_text(encoding="utf-8")
    assert with_prior.decode(with_prior.encode(text)) == text


def test_what_is_no_source_of_trees(tmp_path):
    with pytest.raises(TreetokError, match="unknown trees 'nope': choose 'neural', 'counts' or a tokenizer"):
        train("nope")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TreetokError, match=r"is not a tokenizer: treetok\.json is missing"):
        train(str(tmp_path / "empty"))
    with pytest.raises(TreetokError, match="a prior needs a tokenizer of the same profile"):
        train("en-uncased", prior=5)
    with pytest.raises(TreetokError, match="prior must be at most"):
        train("en", prior=10**20)
    with pytest.raises(TreetokError, match="prior is for the trees of a tokenizer alone"):
        train("counts", prior=5)
    with pytest.raises(TreetokError, match="preset is for trees='neural' alone"):
        train("en", preset="tiny")


def test_the_command(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    out = tmp_path / "out"
    command = ["train", str(tmp_path / "text.txt"), "-o", str(out), "--trees", "en", "--vocab-size", "300"]
    assert main(command) == 0
    assert "300 tokens" in capsys.readouterr().out
    assert TreeTokenizer.load(out).state.entries == train("en").state.entries
    assert not (out / "training").exists()
