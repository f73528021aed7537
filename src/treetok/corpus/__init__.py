"""Read text from disk or memory and count its words."""
