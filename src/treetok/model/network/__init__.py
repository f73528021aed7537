"""The networks: composition model, language model, parser."""
