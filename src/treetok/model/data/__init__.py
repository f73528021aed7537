"""What the model is trained on: morphemes, substrings, batches."""
