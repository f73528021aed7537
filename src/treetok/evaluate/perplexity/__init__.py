"""How well a small language model predicts tokenized text: the "PPL" of the paper's Table 2.

What the paper calls perplexity is the sum of -log p over the tokens of a sentence, including its end, averaged
over sentences, in nats. Unlike perplexity per token, this can be compared between tokenizers: a sentence is the
same however many tokens it has.

For every tokenizer, a GPT-2-style model of the same size is trained from scratch on the same sentences in the same
batches: the budget is counted in characters, not in tokens.

`batches.py` plans the training batches, `windows.py` turns sentences into model inputs, `language_model.py` is the
model, `optimizer.py` its optimizer, `likelihood.py` trains it and measures held-out text.
"""

from treetok.errors import TreetokError
from treetok.install_hint import install_hint

try:
    from treetok.evaluate.perplexity.config import PerplexityConfig
    from treetok.evaluate.perplexity.likelihood import Likelihood, figures_of, measure_likelihood
except ImportError as error:
    raise TreetokError(f"language models need {error.name}: {install_hint('train')}") from None

__all__ = ["Likelihood", "PerplexityConfig", "figures_of", "measure_likelihood"]
