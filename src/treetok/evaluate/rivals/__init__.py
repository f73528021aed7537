"""Who is compared: each rival is a `Contestant`, whatever it is made of.

`trained.py` and `morfessor_baseline.py` learn from the words of the same text, `files.py` loads what others
trained, `treetok_tokenizer.py` is TreeTok itself. What they rely on is imported when it is needed.
"""
