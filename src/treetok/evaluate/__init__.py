"""Comparing tokenizers: gold segmentations, metrics, rivals, reports.

Data flows one way: `gold.py` and `texts.py` read what is scored on, `entrants.py` gathers what is compared from
`rivals/` and `trees.py`, `metrics/` are pure functions of both, `bootstrap.py` says how sure they are,
`comparison.py` puts them together, `report.py` and `plot.py` show them. `perplexity.py` stands apart: it trains
language models, and needs PyTorch.
"""
