"""A tokenizer on disk: a directory of plain files, without pickle, checked when it is loaded.

treetok.json          format version, profile, how pieces are merged, special tokens, settings; size and SHA-256
                      of the data files
vocab.tsv             token and count, a line each, in the order of the ids
ngrams.safetensors    counts of n-grams, where trees come from counts
parser.safetensors    weights of the light parser, where trees come from a neural model
lexicon.safetensors   words whose trees were worked out in advance
MODEL_CARD.md         for people: may be edited or removed
"""

from treetok.storage.load import find_directory, load_state, shipped_names
from treetok.storage.save import save_state

__all__ = ["find_directory", "load_state", "save_state", "shipped_names"]
