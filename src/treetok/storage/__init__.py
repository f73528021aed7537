"""A tokenizer on disk: a directory of plain files, without pickle, validated on loading.

treetok.json          format version, profile and its version, how pieces are merged, special tokens and their
                      roles, settings; size and SHA-256 of the data files
vocab.tsv             one token and its count per line, in id order
ngrams.safetensors    n-gram counts, if trees come from counts
parser.safetensors    weights of the light parser, if trees come from a neural model
lexicon.safetensors   words with precomputed trees
tokenizer_config.json tells transformers which class to load
MODEL_CARD.md         informational: may be edited or removed
"""

from treetok.storage.load import find_directory, has_own_trees, load_state, shared_files, shipped_names
from treetok.storage.save import save_state

__all__ = ["find_directory", "has_own_trees", "load_state", "save_state", "shared_files", "shipped_names"]
