"""Comparing tokenizers: gold segmentations, metrics, baselines, reports.

Data flows one way:

* `gold.py` and `texts.py` read what tokenizers are scored on;
* `interface.py` says what a tokenizer must offer, `load.py` loads one, `baselines/` are the others;
* `lineup.py` loads and trains the tokenizers under comparison, `trees.py` lists sources of trees;
* `metrics/` are pure functions, `bootstrap.py` gives confidence intervals and p-values;
* `compare.py` puts these together; `report.py` and `chart.py` show the result.

`perplexity/` is separate: it trains language models and needs PyTorch.
"""
