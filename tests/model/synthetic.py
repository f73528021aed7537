"""A made-up language whose morphs are known: prefixes, stems, compounds, suffixes that the context calls for."""

from __future__ import annotations

import random

PREFIXES = ["un", "re", "mis"]
NOUN_ENDINGS = ["", "s"]
VERB_ENDINGS = ["", "ed", "ing", "er"]
ADJECTIVE_ENDINGS = ["", "ly", "ness"]


def make_stems(rng: random.Random, how_many: int) -> list[str]:
    stems: set[str] = set()
    while len(stems) < how_many:
        stem = rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") + rng.choice("bdfgklmnprstvz")
        if rng.random() < 0.5:
            stem += rng.choice(["a", "o", "t", "k"])
        stems.add(stem)
    return sorted(stems)


class Language:
    """Sentences of known morphs: `word()` gives a word as the list of its morphs."""

    def __init__(self, seed: int = 0) -> None:
        rng = random.Random(seed)
        stems = make_stems(rng, 90)
        rng.shuffle(stems)
        self.nouns, self.verbs, self.adjectives = stems[:40], stems[40:70], stems[70:]

    def noun(self, rng: random.Random, plural: bool) -> list[str]:
        parts = [rng.choice(self.nouns)]
        if rng.random() < 0.35:
            parts.append(rng.choice(self.nouns))
        return parts + (["s"] if plural else [])

    def verb(self, rng: random.Random, ending: str) -> list[str]:
        prefix = [rng.choice(PREFIXES)] if rng.random() < 0.3 else []
        return prefix + [rng.choice(self.verbs)] + ([ending] if ending else [])

    def adjective(self, rng: random.Random, ending: str) -> list[str]:
        prefix = ["un"] if rng.random() < 0.3 else []
        return prefix + [rng.choice(self.adjectives)] + ([ending] if ending else [])

    def sentence(self, rng: random.Random) -> list[list[str]]:
        plural = rng.random() < 0.5
        article = ["many"] if plural else ["one"]
        # What stands before a verb says how it ends.
        helper, ending = rng.choice([("did", ""), ("has", "ed"), ("is", "ing"), ("the", "er")])
        words = [article]
        if rng.random() < 0.5:
            words.append(self.adjective(rng, ""))
        words.append(self.noun(rng, plural))
        words += [[helper], self.verb(rng, ending)]
        if rng.random() < 0.5:
            words += [["very"], self.adjective(rng, "ly")]
        elif rng.random() < 0.5:
            words += [["such"], self.adjective(rng, "ness")]
        return [*words, ["."]]

    def text(self, sentences: int, seed: int = 1) -> tuple[str, dict[str, list[str]]]:
        """Running text, and the morphs of every word in it."""
        rng = random.Random(seed)
        lines, morphs = [], {}
        for _ in range(sentences):
            words = self.sentence(rng)
            lines.append(" ".join("".join(word) for word in words))
            morphs.update({"".join(word): word for word in words})
        return "\n".join(lines), morphs


def morph_recall(spans_of, morphs: dict[str, list[str]]) -> float:
    """The share of true morphs of several letters, of words of several morphs, that are spans of the trees."""
    hits = total = 0
    for word, parts in morphs.items():
        if len(parts) < 2:
            continue
        spans = set(spans_of(word))
        start = 0
        for part in parts:
            if len(part) > 1:
                hits += (start, start + len(part)) in spans
                total += 1
            start += len(part)
    return hits / total


class AgreementLanguage:
    """A language whose words say nothing of their parts: only the words before them do.

    A word is three letters of one alphabet, all equally likely. Of some alphabets the last two letters are an
    ending, of others the first two are a beginning. The word before agrees with this pair as a whole: neither of
    its letters alone says anything of the word before.
    """

    ALPHABETS = ("aeio", "bdgk", "lmnr", "pstf", "uvwy", "chjq")
    AGREEING = "αβγδεζηθικλμνξοπρστυφχψω"

    def text(self, words: int, seed: int = 1) -> tuple[str, dict[str, list[str]]]:
        """Running text, and the morphs of every word in it."""
        rng = random.Random(seed)
        running, morphs = [], {}
        for _ in range(words):
            number = rng.randrange(len(self.ALPHABETS))
            alphabet = self.ALPHABETS[number]
            word = "".join(rng.choices(alphabet, k=3))
            parts = [word[:1], word[1:]] if number % 2 else [word[:2], word[2:]]
            agrees = sum(map(alphabet.index, max(parts, key=len))) % 4
            running += [self.AGREEING[4 * number + agrees], word]
            morphs[word] = parts
        return " ".join(running), morphs

    def pairs(self) -> list[str]:
        """All pairs of letters, be they morphs or not."""
        return [one + other for alphabet in self.ALPHABETS for one in alphabet for other in alphabet]
