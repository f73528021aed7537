"""Options and settings: what is given, what is refused, and one set of defaults."""

import argparse
import dataclasses
import inspect
import re
import subprocess
import sys

import pytest

from treetok import TreeTokenizer, TreetokError
from treetok.cli import main, make_parser
from treetok.cli.train import OF_THE_COMMAND
from treetok.pipeline import TrainOptions
from treetok.pipeline.overrides import flat_settings, override, parse_setting, read_config
from treetok.special_tokens import ROLES


@dataclasses.dataclass(frozen=True)
class Part:
    size: int = 3
    name: str = "x"


@dataclasses.dataclass(frozen=True)
class Whole:
    part: Part = dataclasses.field(default_factory=Part)
    parts: tuple[Part, ...] = (Part(), Part(4))
    rate: float = 0.5
    on: bool = True


def test_settings_are_replaced_one_by_one():
    changed = override(Whole(), {"part.size": 9, "parts.1.name": "y", "rate": 2, "on": False})
    assert changed == Whole(Part(9), (Part(), Part(4, "y")), 2.0, False)
    assert override(Whole(), {"parts": [{"size": 1}, {"name": "z"}]}).parts == (Part(1), Part(3, "z"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"part.sise": 3}, "unknown setting 'part.sise': did you mean 'part.size'?"),
        ({"prat.size": 3}, "unknown setting 'prat.size': did you mean 'part.size'?"),
        ({"size": 3}, "unknown setting 'size': did you mean 'part"),
        ({"qqqq": 3}, "unknown setting 'qqqq'"),
        ({"parts.2.size": 3}, "unknown setting 'parts.2.size': '2' is not a number from 0 to 1"),
        ({"rate.x": 3}, "unknown setting 'rate.x': it has no parts"),
        ({"part.size": "3"}, "setting 'part.size' must be a whole number, not '3'"),
        ({"part.size": True}, "setting 'part.size' must be a whole number, not True"),
        ({"on": 1}, "setting 'on' must be true or false, not 1"),
        ({"part": 5}, "setting 'part' must be a table, not 5"),
        ({"parts": 5}, "setting 'parts' must be a table, not 5"),
    ],
)
def test_settings_that_do_not_fit(settings, message):
    with pytest.raises(TreetokError) as caught:
        override(Whole(), settings)
    assert message in str(caught.value)


def test_settings_as_they_are_written(tmp_path):
    assert parse_setting("rate = 1e-3") == ("rate", 0.001)
    assert parse_setting("on=false") == ("on", False)
    assert parse_setting("chart=pruned") == ("chart", "pruned")
    for written in ("steps", "=5", ""):
        with pytest.raises(TreetokError, match="a setting is written KEY=VALUE"):
            parse_setting(written)
    config = tmp_path / "config.toml"
    config.write_text("rate = 0.25\n[part]\nsize = 7\n", encoding="utf-8")
    assert override(Whole(), flat_settings(read_config(config))) == Whole(Part(7), rate=0.25)
    config.write_text("rate = 0.25\npart = = 3\n", encoding="utf-8")
    with pytest.raises(TreetokError, match=r"config\.toml is not TOML: .*line 2"):
        read_config(config)
    config.write_bytes(b"\xff")
    with pytest.raises(TreetokError, match=r"config\.toml is not UTF-8"):
        read_config(config)
    with pytest.raises(TreetokError, match="cannot read"):
        read_config(tmp_path / "none.toml")


def test_there_is_one_set_of_defaults():
    defaults = {field.name: field.default for field in dataclasses.fields(TrainOptions)}
    for name, parameter in inspect.signature(TreeTokenizer.train).parameters.items():
        if name in defaults:
            assert parameter.default == defaults[name], name
    # The command hands on what is given and nothing else.
    given = vars(make_parser().parse_args(["train", "text.txt", "-o", "out"]))
    assert given.keys() == set(OF_THE_COMMAND)
    assert not given.keys() & defaults.keys()
    # Every option of the command is one of the options, or about the command itself.
    command = next(a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction)).choices["train"]
    named = {action.dest for action in command._actions} - {"help", *OF_THE_COMMAND}
    # Roles have an option each.
    assert named == set(defaults) - {"roles"} | set(ROLES)


def test_an_option_that_does_not_exist_names_the_nearest():
    with pytest.raises(TreetokError, match="unknown option 'alignmnet': did you mean 'alignment'"):
        TreeTokenizer.train(["text"], 300, "counts", alignmnet=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "training.step=3"], "unknown setting 'training.step': did you mean 'training.steps'?"),
        (["--set", "plain_names=1"], "'plain_names' is not a setting of a preset but an option: --plain-names"),
        (["--set", "training.steps=many"], "setting 'training.steps' must be a whole number, not 'many'"),
        (["--set", "training.steps"], "a setting is written KEY=VALUE, not 'training.steps'"),
        (["--config", "bad.toml"], "bad.toml is not TOML: "),
        (["--minutes", "-1"], "minutes must be a number above 0, not -1.0"),
        (["--minutes", "nan"], "minutes must be a number above 0, not nan"),
        (["--gold", "none.tsv"], "none.tsv"),
        (["--lexicon-text", "none.txt"], "no such file: none.txt"),
        (["--checkpoint-seconds", "0"], "--checkpoint-seconds must be a number above 0"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, monkeypatch, capsys, arguments, message):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("walkers walked talkers talked\n" * 9, encoding="utf-8")
    (tmp_path / "bad.toml").write_text("[training\nsteps = 3\n", encoding="utf-8")
    assert main(["train", "text.txt", "-o", "out", "--device", "cpu", *arguments]) == 1
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("treetok: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert not (tmp_path / "out").exists()


def test_importing_treetok_loads_neither_training_nor_vocabulary_construction():
    script = (
        "import sys, treetok; treetok.TreeTokenizer.load('en').encode('windsurfers');"
        "print([m for m in sys.modules if m.startswith(('torch', 'treetok.pipeline', 'treetok.vocabulary',"
        " 'treetok.model'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "value, message",
    [
        ("[" * 900, "nested too deeply"),
        ("9" * 900, "too long|must be"),
        ("9" * 5000, "at most 1000 characters|a line of more than 1000"),
        ("[" * 50_000, "at most 1000 characters|a line of more than 1000"),
        ("[\n" * 50_000, "at most 1000 characters|nested too deeply"),
    ],
)
def test_settings_that_would_take_all_memory_are_one_line(tmp_path, value, message):
    for read in (lambda: parse_setting(f"a={value}"), lambda: read_config(tmp_path / "settings.toml")):
        (tmp_path / "settings.toml").write_text(f"a={value}")
        try:
            read()
        except TreetokError as error:
            assert re.search(message, str(error)) and "\n" not in str(error) and len(str(error)) < 400
        else:
            assert value == "9" * 900
    (tmp_path / "settings.toml").write_text(".".join("a" * 100_000) + "=1")
    with pytest.raises(TreetokError, match="a line of more than 1000"):
        read_config(tmp_path / "settings.toml")
