import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetok.storage.vocab_tsv import escape_token, unescape_token


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.integers(0x80, 0xFF))
def test_escaping_round_trip(entry):
    written = escape_token(entry)
    assert not set(written) & set("\t\n\r\x0b\x0c\x85\u2028\u2029")
    assert unescape_token(written) == entry


@pytest.mark.parametrize("written", ["", "\\", "\\q", "\\u12", "\\x41", "a\\xe4", "\\U00110000", "\\ud800"])
def test_invalid_escapes(written):
    with pytest.raises(ValueError, match=r"bad escape|empty token|surrogates not allowed"):
        unescape_token(written)
