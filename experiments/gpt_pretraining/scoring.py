"""The likelihood of held-out documents under a language model.

Shapes: B windows, T tokens.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from gpt_pretraining.network import Gpt
from gpt_pretraining.token_stream import NumberedTexts
from gpt_pretraining.token_tables import END, TokenTable

WINDOWS_AT_ONCE = 16


def nats_of_texts(model: Gpt, texts: NumberedTexts, table: TokenTable, device: str) -> npt.NDArray[np.float64]:
    """The nats of each text with its end, given all that is before it. Every token has at least half a context
    before it, but for those at the very beginning."""
    ids = texts.stream(table)
    nats = nats_of_stream(model, ids, device)
    last = np.cumsum(texts.tokens_of_texts(table))
    return np.diff(np.concatenate([[0.0], np.cumsum(nats)[last - 1]]))


@torch.no_grad()
def nats_of_stream(model: Gpt, ids: npt.NDArray[np.uint32], device: str) -> npt.NDArray[np.float64]:
    """The nats of every token. Windows overlap by half, and the second half of each is measured."""
    context = model.config.context
    half = context // 2
    # Half a window of ends of documents before the text, so that all windows are alike, and behind it.
    windows = -(-len(ids) // half)
    stream = np.full(1 + half + windows * half, END, dtype=np.int64)
    stream[1 + half : 1 + half + len(ids)] = ids
    at_BT = half * np.arange(windows)[:, None] + np.arange(context)
    inputs, targets = torch.from_numpy(stream[at_BT]), torch.from_numpy(stream[at_BT + 1])
    model.eval()
    # Compiling for other shapes would take longer than scoring does.
    with torch.compiler.set_stance("force_eager"):
        measured = [
            model(inputs[some].to(device), targets[some].to(device))[:, half:].double().cpu()
            for some in torch.arange(windows).split(WINDOWS_AT_ONCE)
        ]
    return torch.cat(measured).flatten()[: len(ids)].numpy()
