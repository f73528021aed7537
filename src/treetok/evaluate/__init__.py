"""Comparing tokenizers: gold segmentations, metrics, rivals, reports.

Data flows one way: `gold.py` reads what is right, `rivals/` and `trees.py` give what is compared, `metrics/` are pure
functions of both, `bootstrap.py` says how sure they are, `comparison.py` puts them together, `report.py` shows them.
"""
