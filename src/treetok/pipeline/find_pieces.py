"""The stage `pieces`: the language model of pieces that is decoded together with the ensemble, if there is one."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from treetok.corpus.word_ids import WordSequence
from treetok.errors import TreetokWarning
from treetok.model.data.piece_model import PieceModel, find_pieces
from treetok.model.presets import Preset
from treetok.model.training.build_trainer import chart_words
from treetok.pipeline.artefacts import JSON
from treetok.pipeline.run_directory import Made, Run
from treetok.progress import Progress

PIECES_FILE = "pieces.json"


def piece_model(
    preset: Preset, sequence: Callable[[], WordSequence], inputs: dict[str, Any], run: Run, progress: Progress
) -> tuple[PieceModel | None, dict[str, str]]:
    """The model, and the SHA-256 of its file; None and nothing if the preset has no such model."""
    if not preset.pieces.size:
        # There is one if an earlier run had other settings.
        run.records.pop("pieces", None)
        return None, {}
    config, longest = preset.pieces, preset.model.max_word_length

    def work() -> Made:
        with progress.stage("finding pieces", None, "pieces") as shown:
            model = find_pieces(chart_words(sequence(), preset.model), config)
            shown.at(len(model.pieces))
        if not model.pieces:
            warnings.warn(
                f"pieces.size is {config.size}, which leaves no room for more than the characters of the text: no"
                " pieces were found",
                TreetokWarning,
                stacklevel=2,
            )
        return {PIECES_FILE: model.as_json()}, {"pieces": len(model.pieces)}

    inputs = {**inputs, "config": dataclasses.asdict(config), "max_word_length": longest}
    artefacts = run.stage("pieces", inputs, {PIECES_FILE: JSON}, work)
    return PieceModel(**artefacts[PIECES_FILE]), {PIECES_FILE: artefacts.sha256[PIECES_FILE]}
