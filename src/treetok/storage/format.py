"""The files of a saved tokenizer, and the version of the format."""

# Version 2 added `fewest_tokens`, which is false for version 1.
# Version 3 added `profile_version`, which is 1 before: older releases would split text by other rules. It also
# added markers.
FORMAT = 3
HEAD = "treetok.json"
VOCABULARY = "vocab.tsv"
NGRAMS = "ngrams.safetensors"
PARSER = "parser.safetensors"
LEXICON = "lexicon.safetensors"
CARD = "MODEL_CARD.md"
# Tells transformers which class to load; nothing else reads it.
TRANSFORMERS = "tokenizer_config.json"
# All but the head.
FILES = (VOCABULARY, NGRAMS, PARSER, LEXICON, CARD)
# In bytes. Those of the shipped tokenizers have 6 kB; 65,536 special tokens of 11 letters take 1.7 MB.
LONGEST_HEAD = 2 << 20
LONGEST_CARD = 1 << 20
# Where trees come from, if that is an object that is passed when a tokenizer is loaded.
CUSTOM = "custom"
