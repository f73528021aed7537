"""Batches of running text: sampling, padding, validation."""
