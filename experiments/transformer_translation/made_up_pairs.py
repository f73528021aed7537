"""A tiny corpus of sentence pairs, made up by a small grammar, to try the experiment in seconds."""

from __future__ import annotations

import random
from pathlib import Path

from transformer_translation.parallel_text import LANGUAGES, Pair

# English, German, and the gender of the German noun.
NOUNS = [
    ("dog", "Hund", "m"), ("man", "Mann", "m"), ("baker", "Bäcker", "m"), ("teacher", "Lehrer", "m"),
    ("woman", "Frau", "f"), ("cat", "Katze", "f"), ("student", "Studentin", "f"), ("neighbour", "Nachbarin", "f"),
    ("girl", "Mädchen", "n"), ("child", "Kind", "n"), ("horse", "Pferd", "n"), ("house", "Haus", "n"),
]  # fmt: skip
VERBS = [("sees", "sieht"), ("loves", "liebt"), ("hears", "hört"), ("finds", "findet"), ("paints", "malt")]
ADJECTIVES = [("old", "alte"), ("small", "kleine"), ("white", "weiße"), ("happy", "fröhliche"), ("tall", "große")]
PLACES = [
    ("", ""), (" today", " heute"), (" in the garden", " im Garten"), (" at the lake", " am See"),
    (" in the snow", " im Schnee"), (" on the mountain", " auf dem Berg"),
]  # fmt: skip
SUBJECT = {"m": "Der", "f": "Die", "n": "Das"}
OBJECT = {"m": "einen", "f": "eine", "n": "ein"}
SIZES = {"captions": 300, "sentences": 400, "development": 40, "test": 40}


def made_up_pair(choose: random.Random) -> Pair:
    """
    >>> made_up_pair(random.Random(2))
    Pair(english='The white dog sees a man today.', german='Der weiße Hund sieht einen Mann heute.')
    """
    (who, wer, gender), (whom, wen, other) = choose.sample(NOUNS, 2)
    (does, tut), (how, wie), (where, wo) = choose.choice(VERBS), choose.choice(ADJECTIVES), choose.choice(PLACES)
    english = f"The {how} {who} {does} a {whom}{where}."
    return Pair(english, f"{SUBJECT[gender]} {wie} {wer} {tut} {OBJECT[other]} {wen}{wo}.")


def write_made_up_pairs(folder: Path) -> None:
    """Files as the experiment reads them; no sentence is in two of them."""
    choose = random.Random(0)
    pairs = sorted({made_up_pair(choose) for _ in range(2 * sum(SIZES.values()))})
    choose.shuffle(pairs)
    folder.mkdir(parents=True, exist_ok=True)
    start = 0
    for name, size in SIZES.items():
        for number, language in enumerate(LANGUAGES):
            lines = [pair[number] + "\n" for pair in pairs[start : start + size]]
            (folder / f"{name}.{language}").write_text("".join(lines), encoding="utf-8")
        start += size
