"""Docstrings as Markdown, for the site: they are written to be read in the source.

Paragraphs of `name: meaning` become lists of parameters, and examples become code blocks.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

PARAMETER = re.compile(r"([a-z_]+(?:, [a-z_]+)*): (.*)")


class DocstringMarkdown(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    r"""
    >>> print(as_markdown("Train.\n\ncorpus: the text,\n    in files.\nseed: a number."))
    Train.
    <BLANKLINE>
    * `corpus`: the text,
      in files.
    * `seed`: a number.
    """
    paragraphs = re.split(r"\n\s*\n", docstring.strip())
    return "\n\n".join(map(paragraph_as_markdown, paragraphs))


def paragraph_as_markdown(paragraph: str) -> str:
    if paragraph.startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    # Tokens such as <join> are no HTML.
    paragraph = re.sub(r"(`[^`]*`)|<", lambda found: found[1] or "&lt;", paragraph)
    lines = paragraph.split("\n")
    if len(lines) > 1 and lines[0].endswith(":"):
        return f"{lines[0]}\n\n{paragraph_as_markdown(chr(10).join(lines[1:]))}"
    if not all(PARAMETER.fullmatch(line) or line.startswith("    ") for line in lines):
        return paragraph
    return "\n".join(
        f"* `{found[1].replace(', ', '`, `')}`: {found[2]}" if (found := PARAMETER.fullmatch(line)) else line[2:]
        for line in lines
    )
