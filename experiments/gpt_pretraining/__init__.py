"""Pretraining of GPT-2-style language models, one for each tokenizer, on the same text.

Files in reading order: `documents.py` (text as documents), `token_tables.py` (the ids of every word by each
tokenizer), `prepare.py` (makes these), `token_stream.py` (documents as one stream of ids), `network.py`,
`training.py` (one pass over the text), `scoring.py` (the likelihood of held-out documents), `frequencies.py` (how
unlike the training text these are), `runs.py` (what came out, one file for each model), `tables.py`, `plot.py`.
"""
