"""The plain definition of a language model of pieces: every way to cut a string, one after the other."""

import math
from itertools import combinations, pairwise


def segmentations(string):
    for cuts in range(len(string)):
        for places in combinations(range(1, len(string)), cuts):
            ends = [0, *places, len(string)]
            yield [string[start:end] for start, end in pairwise(ends)]


def log_string(model, string):
    """The log-probability of a string: the sum over all ways to cut it of the product of the pieces."""
    total = sum(
        math.exp(math.fsum(float(p) for p in model.log_probabilities(pieces))) for pieces in segmentations(string)
    )
    return math.log(total)
