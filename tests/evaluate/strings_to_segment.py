"""Strings that every tokenizer must segment without losing a letter."""

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


def without_spaces(text: str) -> str:
    return "".join(text.split())
