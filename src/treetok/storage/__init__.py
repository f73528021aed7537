"""A tokenizer on disk: a directory of plain files, without pickle, validated on loading.

treetok.json          format version, profile and its version, how pieces are merged, special tokens and their
                      roles, settings; size and SHA-256 of the data files
vocab.tsv             one token and its count per line, in id order
ngrams.safetensors    n-gram counts, if trees come from counts
parser.safetensors    weights of the light parser, if trees come from a neural model
lexicon.safetensors   words with precomputed trees
tokenizer_config.json tells transformers which class to load
MODEL_CARD.md         informational: may be edited or removed

A directory may be from a stranger. What is refused is refused before any work, even before checksums are known:
treetok.json has at most 2 MB, with 65,536 special tokens of up to 1,000 characters; MODEL_CARD.md 1 MB; vocab.tsv
64 MB; the header of a safetensors file 256 kB, with 1,024 arrays of up to 2 dimensions; JSON is nested at most 64
deep. Files are regular ones of the directory (`files.py` says which links are followed). Loading takes at most 64
bytes of memory for each byte of the files, 100 in plain Python; lexicons and counts, which are large, take hardly
more than they have. `scripts/check_mutants.py` tries damaged directories.
"""

from treetok.storage.load import find_directory, has_own_trees, load_state, shared_files, shipped_names
from treetok.storage.save import save_state

__all__ = ["find_directory", "has_own_trees", "load_state", "save_state", "shared_files", "shipped_names"]
