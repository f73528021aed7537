"""Changes of JSON that keep it JSON: raw bytes seldom stay so, and what is not JSON is refused at once."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import atheris

VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        5,
        255,
        256,
        300,
        1 << 31,
        1 << 63,
        1 << 70,
        10**30,
        0.5,
        1e308,
        float("nan"),
    ),
    *(
        "",
        "a",
        " ",
        "\0",
        "é",
        "\ud800",
        "0",
        "1",
        "[UNK]",
        "<s>",
        "<join>",
        "<0x80>",
        "/",
        "..",
        "../other",
        "/etc",
    ),
    *([], {}, [[]], [0], ["a"], {"a": 1}, {"": {}}, [0, 0]),
]


def changed_json(data: bytes, most: int, seed: int, words: Sequence[Any] = ()) -> bytes:
    """A few changes; `words` are names and values that mean something where this is read."""
    rng = random.Random(seed)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return bytes(atheris.Mutate(data, most))
    if rng.random() < 0.05:
        return bytes(atheris.Mutate(data, most))
    for _ in range(rng.choice((1, 1, 2, 4))):
        tree = changed_tree(tree, rng, [*VALUES, *words])
    changed = json.dumps(tree).encode()
    return changed if len(changed) <= most else data


def places_in(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All values, as the object or list that holds each of them and its name or number there."""
    if isinstance(tree, dict | list):
        for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
            yield tree, key
            yield from places_in(value)


def changed_tree(tree: Any, rng: random.Random, values: Sequence[Any]) -> Any:
    root = [tree]
    places = list(places_in(root))
    # What is on top decides most.
    on_top = [(holder, key) for holder, key in places if holder is root or holder is tree]
    holder, key = rng.choice(on_top if rng.random() < 0.5 else places)
    other_holder, other_key = rng.choice(places)
    how = rng.choice(("value", "value", "other", "number", "text", "delete", "name", "insert", "insert", "repeat"))
    old = holder[key]
    if how == "number" and isinstance(old, int | float) and not isinstance(old, bool):
        holder[key] = old + rng.choice((-1, 1, 8, -old, old, 1 << 40))
    elif how == "text" and isinstance(old, str):
        at = rng.randint(0, len(old))
        holder[key] = old[:at] + str(rng.choice(values)) + old[at + rng.randint(0, 2) :]
    elif how == "delete" and holder is not root:
        del holder[key]
    elif how == "name" and isinstance(holder, dict):
        holder[str(rng.choice(values))] = holder.pop(key)
    elif how == "insert" and isinstance(old, dict):
        # Items that belong together, or any name and value.
        items = [value for value in values if isinstance(value, dict) and value]
        any_item = {str(rng.choice(values)): rng.choice(values)}
        old |= copy.deepcopy(rng.choice(items) if rng.random() < 0.5 else any_item)
    elif how == "insert" and isinstance(old, list):
        old.insert(rng.randint(0, len(old)), copy.deepcopy(rng.choice(values)))
    elif how == "repeat" and isinstance(old, list) and old:
        old += [copy.deepcopy(rng.choice(old)) for _ in range(rng.choice((1, 10, 300)))]
    elif how == "other" and holder is not root:
        holder[key] = copy.deepcopy(other_holder[other_key])
    elif holder is not root or rng.random() < 0.1:
        holder[key] = copy.deepcopy(rng.choice(values))
    return root[0]
