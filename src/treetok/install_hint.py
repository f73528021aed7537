"""How to install what an optional part of treetok needs."""

from __future__ import annotations

# The packages of the extras in pyproject.toml, one by one: `pip install treetok[train]` needs treetok on a package
# index, and '.[train]' a checkout. This works after any kind of installation.
PACKAGES = {
    "train": ("torch", "tokenizers", "tensorboardX"),
    "eval": ("tokenizers", "morfessor", "matplotlib"),
    "cluster": ("daft", "ray"),
}


def install_hint(extra: str) -> str:
    """
    >>> install_hint("train")
    'pip install torch tokenizers tensorboardX'
    """
    return f"pip install {' '.join(PACKAGES[extra])}"
