"""The training objectives of the composition model and of the parser."""
