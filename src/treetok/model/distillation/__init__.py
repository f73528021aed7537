"""Distil the trees of the ensemble into a small parser."""
