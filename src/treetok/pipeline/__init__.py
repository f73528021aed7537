"""From a corpus to a tokenizer: a row of stages, each of which reads and writes named artefacts.

options.py       everything a user can choose, checked
overrides.py     settings of a preset changed one by one, or from a TOML file
train.py         the stages in order
words.py         count words, number running text
ensemble.py      find morphemes, train each member of the ensemble
trees.py         decode trees, distil the parser; or trees from counts, or from another tokenizer
vocabulary.py    choose the vocabulary, assemble the tokenizer
run.py           the directory of a run: what is done, what has to be done again
artefacts.py     how artefacts are written as files
budget.py        the time budget, and the time left
gold_watch.py    gold segmentations watched while training
summary.py       the table at the end
"""

from treetok.pipeline.options import TrainOptions
from treetok.pipeline.train import Trained, train

__all__ = ["TrainOptions", "Trained", "train"]
