import math

import numpy as np
import pytest

from treetok.token_entropy import entropies_by_token, entropies_of, fraction_bits


@pytest.mark.parametrize("total", [1, 10, 10**6, 2**30 - 1, 2**30, 10**9, 10**12, 10**15])
def test_the_entropies_of_a_whole_corpus_fit_in_63_bits(total):
    """Even if every token were the rarest one."""
    bits = fraction_bits(total)
    assert total * math.log(total) * 2**bits < 2**62
    # As many binary places as that allows, and at most 20.
    assert bits == (20 if total < 2**30 else max(4, 50 - total.bit_length()))


def test_entropies_are_rounded_logarithms():
    counts = np.array([1, 3, 0, 60, 1000])
    # A count of 0 counts as 1.
    expected = [round(math.log(1065 / max(count, 1)) * 2**20) for count in counts.tolist()]
    assert entropies_of(counts).tolist() == expected
    assert entropies_by_token(dict(zip("abcde", counts.tolist(), strict=True))) == dict(
        zip("abcde", expected, strict=True)
    )
