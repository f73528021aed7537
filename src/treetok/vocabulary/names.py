"""Names: words that are written with a capital, and hardly ever without.

They have no morphs that a vocabulary could be aligned with, and a large share of the distinct words of a text are
names. In a language that also capitalises its nouns, case does not tell the two apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

# A name is written in lower case less than this many times as often as with a capital.
SELDOM = 0.3
# A text where more of the running words would be names capitalises other words too: 33 % in German, 4 to 11 % in
# Czech, English, Finnish, Hungarian and Turkish.
MOST_NAMES = 0.2


def which_are_names(counts: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    """Which of the words are names; none if case does not tell.

    >>> counts = {" the": 60, " The": 9, " Ada": 5, " river": 30, " cat": 2, " Cat": 3}
    >>> [word for word, is_name in zip(counts, which_are_names(counts), strict=True) if is_name]
    [' Ada']
    >>> which_are_names({" der": 60, " Fluss": 30, " Brücke": 20}).any()
    np.False_
    """
    lower: Counter[str] = Counter()
    with_capital: Counter[str] = Counter()
    for word, count in counts.items():
        letters = word.strip()
        (with_capital if letters[:1].isupper() else lower)[letters.lower()] += count
    names = np.array(
        [
            letters[:1].isupper() and lower[letters.lower()] < SELDOM * with_capital[letters.lower()]
            for letters in map(str.strip, counts)
        ],
        dtype=bool,
    )
    in_letters = sum(count for word, count in counts.items() if word.strip()[:1].isalpha())
    of_names = sum(count for count, is_name in zip(counts.values(), names.tolist(), strict=True) if is_name)
    return names if of_names <= MOST_NAMES * in_letters else np.zeros(len(names), dtype=bool)
