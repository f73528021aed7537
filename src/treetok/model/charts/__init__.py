"""Charts: which spans a word has, and the inside and outside pass over them."""
