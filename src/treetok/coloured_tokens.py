"""Tokens as coloured spans, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treetok.encoding import Encoding

# Neighbours differ. Shades that the background shows through can be read on light and on dark pages.
HUES = (210, 30, 140, 330, 55, 270)
STYLE = "border-radius:3px;padding:1px 0;background:hsl({hue} 90% 50% / 0.28)"
SPECIAL_STYLE = "border-radius:3px;outline:1px dashed currentColor"
# Longer texts would slow a notebook down.
MOST_TOKENS = 2000


def draw_html(encoding: Encoding) -> str:
    """Every token in a colour; the text that appears under the mouse has its id, offsets and word."""
    spans = []
    columns = (encoding.ids, encoding.tokens, encoding.offsets, encoding.word_ids)
    for number, (token_id, token, (start, end), word) in enumerate(zip(*columns, strict=True)):
        if number == MOST_TOKENS:
            spans.append(f"<em> and {len(encoding) - MOST_TOKENS} more tokens</em>")
            break
        style = SPECIAL_STYLE if word is None else STYLE.format(hue=HUES[number % len(HUES)])
        where = "special token" if word is None else f"word {word}"
        title = f"id {token_id}, characters {start} to {end}, {where}"
        spans.append(f'<span style="{style}" title="{title}">{visible(token)}</span>')
    return f'<div style="white-space:pre-wrap;font-family:monospace;line-height:1.6">{"".join(spans)}</div>'


def visible(token: str) -> str:
    """The text of a token in HTML, whatever it is; line feeds and control characters can be seen.

    >>> visible("<b>&"), visible("\\n")
    ('&lt;b&gt;&amp;', '↵\\n')
    """
    shown = []
    for character in token:
        if character == "\n":
            shown.append("↵\n")
        elif character == " " or character.isprintable():
            shown.append(escape(character))
        else:
            shown.append(f"\\u{ord(character):04x}")
    return "".join(shown)
