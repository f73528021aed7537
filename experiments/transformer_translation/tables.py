"""The results as tables, with notes on how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_translation.encoded_pairs import EncodedPairs
from transformer_translation.parallel_text import LANGUAGES
from transformer_translation.scores import Compared
from transformer_translation.subwords import PROFILE
from treetok.evaluate.report import stated_p

# Of a system, what came out for each seed: lines of the file of translations.
Results = Mapping[str, list[dict[str, Any]]]


def grid_of_scores(
    of_places: dict[str, dict[str, Compared]], each_seed: dict[str, list[float]]
) -> list[list[str]]:
    """The score on each test and on all, and the differences from the first system."""
    grid = [["system", *of_places, "difference, all", "all, each seed"]]
    for name, seeds in each_seed.items():
        row = [name]
        for compared in of_places.values():
            one = compared[name]
            row.append(f"{one.score:.2f}" + (f" ({stated_p(one.p_value)})" if len(grid) > 1 else ""))
        one = of_places["all"][name]
        row.append(f"{one.difference:+.2f} ({one.low:+.2f} to {one.high:+.2f})" if len(grid) > 1 else "-")
        grid.append([*row, ", ".join(f"{value:.2f}" for value in seeds)])
    return grid


def grid_of_training(results: Results, pairs: EncodedPairs) -> list[list[str]]:
    grid = [
        [
            "system", "tokens per English sentence", "per German sentence", "parameters",
            "bits per byte of development text", "best epoch", "seconds of training",
        ]
    ]  # fmt: skip
    for name, of_seeds in results.items():
        first = of_seeds[0]
        tokens = []
        for language, kind in zip(LANGUAGES, (first["english"], first["german"]), strict=True):
            sentences = [pairs.sentences[test, language, kind] for test in pairs.tests]
            # Without the ends of sentences.
            tokens.append(f"{sum(len(one.flat) for one in sentences) / sum(map(len, sentences)) - 1:.2f}")
        grid.append(
            [
                name,
                *tokens,
                f"{first['parameters'] / 1e6:.1f} M",
                ", ".join(f"{min(result['bits_per_byte']):.4f}" for result in of_seeds),
                ", ".join(str(result["best_epoch"]) for result in of_seeds),
                ", ".join(f"{result['training_seconds']:.0f}" for result in of_seeds),
            ]
        )
    return grid


def notes(texts: dict[str, Any], results: Results, resamples: int, signatures: list[str]) -> dict[str, str]:
    prepared, first = texts["settings"], next(iter(results.values()))[0]
    network, training, search = first["network"], first["training"], first["search"]
    removed = ", ".join(f"{count} {reason}" for reason, count in texts["removed"].items()) or "none"
    of_tests = ", ".join(f"{name} {len(pairs)}" for name, pairs in texts["tests"].items())
    vocabulary = (
        f"{prepared['vocab_size']} entries for each language; profile {PROFILE}, sentences begin with a space"
    )
    if prepared["alignment"] is not None:
        vocabulary += f"; alignment {prepared['alignment']:g}"
    of_languages = [
        f"{language}: trained on the training text{and_more(prepared[f'tokenizer_text_{language}'])},"
        f" TreeTok with trees of {Path(prepared[f'{word}_trees']).name}"
        for language, word in zip(LANGUAGES, ("english", "german"), strict=True)
    ]
    return {
        "scores": "mean over seeds; p-values and intervals of differences from the first system: paired bootstrap"
        f" over sentences, {resamples} resamples, which does not count the chance in training",
        "sacreBLEU": "; ".join(signatures),
        "training text": f"{texts['pairs']['training']} pairs of {prepared['training_sets']}",
        "removed from it": f"{removed} (in either language, without case and punctuation)",
        "development text": f"{texts['pairs']['development']} pairs of {prepared['development_set']}",
        "tests": f"{of_tests}; {prepared['held_out_from']}: held out by a hash of the English sentence",
        "vocabularies": "; ".join([vocabulary, *of_languages]),
        "network": f"{network['layers']} + {network['layers']} layers, {network['dimension']} dimensions,"
        f" {network['heads']} heads, feed-forward {network['feed_forward']}, dropout {network['dropout']}",
        "training": f"{training['epochs']} epochs, {first['steps']} steps of {training['bytes_per_step']} bytes,"
        f" learning rate {training['learning_rate']:g}, label smoothing {training['label_smoothing']}; the weights"
        " of the epoch with the best development loss",
        "search": f"beam of {search['width']}, log-probability / length ** {search['length_exponent']:g}",
        "device": first["device"],
    }


def and_more(files: list[str]) -> str:
    return f" and {', '.join(files)}" if files else ""
