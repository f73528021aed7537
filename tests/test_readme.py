"""The README's commands are the ones that CI runs and that a new user copies."""

import re
import subprocess
import sys

from conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)\n```", README, flags=re.DOTALL)


def test_ci_runs_the_test_command():
    assert "pytest" in COMMANDS[1]
    assert COMMANDS[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8").split("\n")


def test_the_first_command_tokenizes():
    make, install, use = COMMANDS[0].split(" && ")
    assert (make, install) == ("python3 -m venv .venv", ".venv/bin/pip install .")
    use = use.replace(".venv/bin/treetok", f"{sys.executable} -m treetok")
    result = subprocess.run(["bash", "-c", use], capture_output=True, text=True, check=True)
    assert f"It prints `{result.stdout.strip()}`" in README
    sentence = use.split('"')[1]
    assert len(sentence.split()) > 4
    assert result.stdout.replace(" ", "").replace("<join>␣", "").replace("␣", " ") == sentence + "\n"
