"""A neural PCFG over the characters of words, the baseline that the paper's Table 3 calls "Neural PCFG".

It is the low-rank grammar of Yang, Liu and Tu (2022), "Dynamic Programming in Rank Space". Files in reading order:
`grammar.py` (probabilities of rules, from a network), `inside.py` (the probability of a string), `words.py`
(strings as arrays), `training.py`, `trees.py` (MBR and Viterbi decoding).

A "word" is any string; its characters are the terminals.
"""
