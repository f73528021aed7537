"""Build the tokenizers that ship in the package, `en` and `en-uncased`, from the text in sample_text/.

python tools/build_shipped.py
"""

import argparse
from dataclasses import replace
from pathlib import Path

from treetok import TreeTokenizer

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = {"en": ("lossless", 4000), "en-uncased": ("uncased", 3000)}

CARD = """# `{name}`

A small English tokenizer that comes with TreeTok, so that everything works from the first minute. It was trained
on {words} words (with punctuation) only and is no match for one trained on real amounts of text.

| | |
|---|---|
| profile | {profile} |
| tokens | {tokens} |
| trees | from counts of n-grams, no neural model |
| text | `sample_text/` of the TreeTok repository, written for it; Apache-2.0 |
| made by | `python tools/build_shipped.py` |

Known weaknesses: stems that the text lacks fall into meaningless pieces (`quixotic` is cut `{example}`), and words
are cut where n-grams are frequent, which is not always where morphemes meet.
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    texts = sorted((ROOT / "sample_text").glob("*.txt"))
    for name, (profile, size) in SHIPPED.items():
        tokenizer = TreeTokenizer.train(texts, size, trees="counts", profile=profile)
        parts = tokenizer.parts
        card = CARD.format(
            name=name,
            words=parts.settings["words_in_corpus"],
            profile=profile,
            tokens=size,
            example="|".join(tokenizer.segment("quixotic")),
        )
        TreeTokenizer(replace(parts, card=card)).save(ROOT / "src/treetok/shipped" / name)
        print(name, tokenizer)


if __name__ == "__main__":
    main()
