"""From a corpus to a tokenizer: a sequence of stages that read and write named artefacts.

options.py             all user options, validated
overrides.py           override settings of a preset, one by one or from a TOML file
train_tokenizer.py     the stages in order
count_words.py         count words, convert running text to word ids
neural.py              all stages of neural training in order
ensemble.py            find morphemes, train each member of the ensemble
morphs_from_trees.py   morphemes suggested by the trees of earlier members
decode_trees.py        decode the trees of all words from the ensemble
distil_parser.py       distil the parser from them
ready_trees.py         trees that need no training: from counts, or from another tokenizer
vocabulary.py          choose the vocabulary
run_directory.py       the directory of a run: which stages are finished, which must be redone
artefacts.py           file formats of artefacts
time_budget.py         the time budget and the estimated time left
peak_memory.py         the peak memory of a stage
gold_watch.py          scores against gold segmentations during training
summary.py             the table printed at the end of a run
"""

from treetok.pipeline.options import TrainOptions
from treetok.pipeline.train_tokenizer import Trained, train

__all__ = ["TrainOptions", "Trained", "train"]
