"""From a corpus to a tokenizer: a row of stages, each of which reads and writes named artefacts.

options.py       everything a user can choose, checked
overrides.py     settings of a preset changed one by one, or from a TOML file
train.py         the stages in order
words.py         count words, number running text
ensemble.py      find morphemes, train each member of the ensemble
decode.py        decode the trees of all words from the ensemble
distil.py        distil the parser from them
neural.py        all stages of neural training in order
tree_sources.py  trees that need no training: from counts, or from another tokenizer
vocabulary.py    choose the vocabulary
run.py           the directory of a run: what is done, what has to be done again
artefacts.py     how artefacts are written as files
budget.py        the time budget, and the time left
memory.py        the peak memory of a stage
gold_watch.py    gold segmentations watched while training
summary.py       the table at the end
"""

from treetok.pipeline.options import TrainOptions
from treetok.pipeline.train import Trained, train

__all__ = ["TrainOptions", "Trained", "train"]
