"""The files of a tokenizer."""

FORMAT = 1
HEAD = "treetok.json"
VOCABULARY = "vocab.tsv"
NGRAMS = "ngrams.safetensors"
PARSER = "parser.safetensors"
LEXICON = "lexicon.safetensors"
CARD = "MODEL_CARD.md"
# All but the head.
FILES = (VOCABULARY, NGRAMS, PARSER, LEXICON, CARD)
