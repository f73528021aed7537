"""From a corpus to a tokenizer: a row of stages, each of which reads and writes named artefacts.

options.py             everything a user can choose, checked
overrides.py           settings of a preset changed one by one, or from a TOML file
train_tokenizer.py     the stages in order
count_words.py         count words, number running text
neural.py              all stages of neural training in order
ensemble.py            find morphemes, train each member of the ensemble
morphs_from_trees.py   morphemes that the trees of other members suggest
decode_trees.py        decode the trees of all words from the ensemble
distil_parser.py       distil the parser from them
ready_trees.py         trees that need no training: from counts, or from another tokenizer
vocabulary.py          choose the vocabulary
run_directory.py       the directory of a run: what is done, what has to be done again
artefacts.py           how artefacts are written as files
time_budget.py         the time budget, and the time left
peak_memory.py         the peak memory of a stage
gold_watch.py          gold segmentations watched while training
summary.py             the table at the end
"""

from treetok.pipeline.options import TrainOptions
from treetok.pipeline.train_tokenizer import Trained, train

__all__ = ["TrainOptions", "Trained", "train"]
