"""A language model of pieces in the pipeline: a stage of its own, decoded together with the ensemble."""

import dataclasses
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("tokenizers")

from minute import MINUTE  # noqa: E402
from synthetic import Language  # noqa: E402

from treetok import TreeTokenizer, TreetokWarning  # noqa: E402
from treetok.model.data.piece_model import PieceConfig, PieceModel  # noqa: E402
from treetok.model.decoding import CompositionTrees  # noqa: E402
from treetok.model.ensemble import EnsembleMember  # noqa: E402
from treetok.pipeline.artefacts import load_trees  # noqa: E402

TEXT, _ = Language().text(1500)


def train(corpus, preset, **options):
    return TreeTokenizer.train(
        corpus, 300, "neural", "uncased", progress=False, device="cpu", preset=preset, **options
    )


def test_a_language_model_of_pieces_is_decoded_with_the_ensemble(tmp_path):
    preset = dataclasses.replace(MINUTE, pieces=PieceConfig(60), pseudo_compounds=30)
    tokenizer = train([TEXT], preset, directory=tmp_path)
    assert tokenizer.settings["stages"]["trees"]["pseudo_words"] > 0
    pieces = PieceModel(**json.loads((tmp_path / "pieces.json").read_text(encoding="utf-8")))
    members = [EnsembleMember.load(tmp_path / f"member-{number}.safetensors") for number in (1, 2)]
    decoded = load_trees((tmp_path / "trees.safetensors").read_bytes())
    words = sorted(decoded)
    with_pieces, without = (CompositionTrees(members, pieces=p).split_scores(words) for p in (pieces, None))
    assert [scores.tolist() for scores in with_pieces] == [decoded[word] for word in words]
    assert [scores.tolist() for scores in without] != [decoded[word] for word in words]
    # The parser is told of the pieces too.
    assert {piece for piece in pieces.pieces if 2 <= len(piece) <= 8} <= set(tokenizer.state.source.morphemes)
    # Members are the same without pieces; trees are decoded again, and again if the file of pieces is damaged.
    members_before = (tmp_path / "member-2.safetensors").read_bytes()
    train([TEXT], MINUTE, directory=tmp_path, resume=True)
    assert (tmp_path / "member-2.safetensors").read_bytes() == members_before
    assert load_trees((tmp_path / "trees.safetensors").read_bytes()) != decoded
    assert "pieces" not in json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["stages"]
    train([TEXT], preset, directory=tmp_path, resume=True)
    (tmp_path / "pieces.json").write_bytes(b"damaged")
    with pytest.warns(TreetokWarning, match=r"pieces.json is damaged: the stage 'pieces' is done again"):
        again = train([TEXT], preset, directory=tmp_path, resume=True)
    assert again.state.entries == tokenizer.state.entries


def test_sizes_that_leave_room_for_characters_alone():
    characters = len(set(TEXT) - set(" \n"))
    ensemble = (MINUTE.ensemble[0], dataclasses.replace(MINUTE.ensemble[1], size=1))
    with (
        pytest.warns(TreetokWarning, match=r"^pieces\.size is 2, .*no pieces were found"),
        pytest.warns(
            TreetokWarning,
            match=rf"^no morpheme of model 2 .*ensemble\.1\.size is 1, and the text has {characters} characters",
        ),
    ):
        train([TEXT], dataclasses.replace(MINUTE, pieces=PieceConfig(2), ensemble=ensemble))
