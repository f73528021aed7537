"""A quick test of an installed package: the shipped tokenizers, the native core and the command.

python scripts/smoke_test.py [--without-native]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import treetok
from treetok.native import why_not_native
from treetok.reference_encoder import ReferenceEncoder
from treetok.storage import shipped_names

TEXT = "Unbelievably, the windsurfers' HTMLParser cost €1234567: naïve 東京 👩‍💻 zyzzyvas.\r\n\tEnd "


def main(arguments: list[str]) -> None:
    checkout = Path(__file__).resolve().parent.parent
    place = Path(treetok.__file__).resolve()
    assert checkout / "src" not in place.parents, f"{place} is the checkout, not an installed package"
    reason = why_not_native()
    assert (reason is not None) == ("--without-native" in arguments), f"native core: {reason or 'used'}"
    for name in shipped_names():
        tokenizer = treetok.TreeTokenizer.load(name)
        ids = tokenizer.encode(TEXT)
        assert ids == ReferenceEncoder(tokenizer.state).encode(TEXT), name
        if tokenizer.profile == "lossless":
            assert tokenizer.decode(ids) == TEXT, name
        assert tokenizer.encode_batch([TEXT] * 100, threads=2) == [ids] * 100, name
    command = [sys.executable, "-m", "treetok", "info", "en"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert "32,000" in shown or "32000" in shown, shown
    print(
        f"treetok {treetok.__version__} in {place.parent}: {', '.join(shipped_names())} work; {reason or 'native'}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
