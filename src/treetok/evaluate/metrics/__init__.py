"""Figures as pure functions of gold words and predictions. Each keeps what every word adds to it, so that
`treetok.evaluate.bootstrap` can say how sure it is.
"""
