"""How encodings and trees look in a notebook."""

from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treetok import Tree
from treetok.coloured_tokens import MOST_TOKENS, visible


class Seen(HTMLParser):
    """Tags, the attributes that they have, and the text between them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text = [], set(), []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.text.append(data)


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.sampled_from("<>&\"'scriptb/= \n\x00東")))
@example('<script>alert("x")</script>')
@example("<img src=x onerror='alert(1)'> &lt; <|endoftext|>")
@example("")
def test_texts_cannot_inject_anything(lossless, uncased, text):
    for tokenizer in (lossless, uncased):
        encoding = tokenizer.encode_with_offsets(text, allowed_special="all")
        seen = Seen(encoding._repr_html_())
        assert seen.tags == ["div"] + ["span"] * len(encoding)
        assert seen.attributes <= {"style", "title"}
        plain = "".join(Seen(visible(token)).text[0] for token in encoding.tokens)
        assert "".join(seen.text) == plain


def test_what_is_shown(lossless):
    html = lossless.encode_with_offsets("a\x07 the\n<|endoftext|>", allowed_special="all")._repr_html_()
    assert Seen(html).text == ["a", "\\u0007", " the", "↵\n", "<|endoftext|>"]
    assert "special token" in html and "word 2" in html


def test_long_texts_are_cut(lossless):
    seen = Seen(lossless.encode_with_offsets("a " * MOST_TOKENS)._repr_html_())
    assert seen.tags.count("span") == MOST_TOKENS
    assert "more tokens" in seen.text[-1]


def test_trees_are_pictures(lossless):
    tree = lossless.tree("walking")
    assert tree._repr_html_() == tree.svg()
    seen = Seen(Tree("<b>" * 2, range(5))._repr_html_())
    assert "b" not in seen.tags and seen.text.count("<") == 2


@pytest.mark.parametrize("text", ["<b>" * 2000])
def test_long_trees_are_brackets(text):
    seen = Seen(Tree(text, range(len(text) - 1))._repr_html_())
    assert seen.tags == ["pre"]
    assert "".join(seen.text).count("[") == len(text) - 1
