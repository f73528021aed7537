"""The files of a tokenizer."""

# 2 says whether post-merge looks for the fewest tokens first; in 1 it never did.
FORMAT = 2
HEAD = "treetok.json"
VOCABULARY = "vocab.tsv"
NGRAMS = "ngrams.safetensors"
PARSER = "parser.safetensors"
LEXICON = "lexicon.safetensors"
CARD = "MODEL_CARD.md"
# All but the head.
FILES = (VOCABULARY, NGRAMS, PARSER, LEXICON, CARD)
