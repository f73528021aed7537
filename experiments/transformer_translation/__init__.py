"""Translation from English to German by a Transformer trained from scratch: how much does the tokenizer matter?

Files in reading order: `parallel_text.py` (sentence pairs, kept apart for training, development and tests),
`subwords.py` (tokenizers of both languages), `encoded_pairs.py` (pairs as ids), `network.py`, `training.py`,
`beam_search.py`, `translate.py` (one system from ids to translations), `scores.py` (BLEU and chrF, compared by
paired bootstrap resampling). `made_up_pairs.py` is a tiny corpus to try all of it.
"""
