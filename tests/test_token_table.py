import pytest

from treetok import TreetokError
from treetok.token_table import TokenTable, base_entries


def test_special_tokens_have_the_ids_given_and_others_fill_the_rest():
    table = TokenTable(["walk", "s"], {"[UNK]": 1, "<end>": 3}, byte_fallback=False)
    assert table.names == ["walk", "[UNK]", "s", "<end>"]
    assert [table.ids_of_piece(piece) for piece in ("walk", "s", "é")] == [(0,), (2,), (1,)]
    # An unknown character is one token, and stands for one character.
    assert table.lengths == [4, 1, 1, 1]


def test_bytes_stand_for_characters_outside_the_vocabulary():
    table = TokenTable([*base_entries(True), " the"], {}, byte_fallback=True)
    assert len(table) == 257
    assert table.ids_of_piece("é") == tuple("é".encode())
    assert [table.names[number] for number in table.ids_of_piece("é")] == ["<0xC3>", "<0xA9>"]
    # The first byte of a character covers it, the others cover none.
    assert [table.lengths[number] for number in table.ids_of_piece("東")] == [1, 0, 0]
    assert table.ids_of_piece(" the") == (256,)


@pytest.mark.parametrize(
    ("entries", "specials", "message"),
    [
        (["a"], {"[UNK]": 2}, "distinct and between 0 and 1"),
        (["a"], {"[UNK]": 0, "<x>": 0}, "distinct and between 0 and 2"),
        (["a", "bc"], {"[UNK]": 0, "bc": 1}, "'bc' is both a special and an ordinary token"),
        (["a"], {"[UNK]": 0, "b": 1}, "'b' is both a special and an ordinary token"),
        (["a", "a"], {"[UNK]": 0}, "appears twice in the vocabulary"),
        (["a"], {}, r"the vocabulary is missing the special token \[UNK\]"),
    ],
)
def test_invalid_tables(entries, specials, message):
    with pytest.raises(TreetokError, match=message):
        TokenTable(entries, specials, byte_fallback=False)
