"""Metrics as pure functions of gold words and predictions. Each keeps the contribution of every word, so that
`treetok.evaluate.bootstrap` can resample words.
"""
