"""From text to a tokenizer with neural trees, by the library and by the command."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")

from synthetic import Language  # noqa: E402
from treetok.model.learning import learn_trees  # noqa: E402

from treetok import TreeTokenizer, TreetokError  # noqa: E402
from treetok.model import presets  # noqa: E402
from treetok.model.config import CompositionConfig, LanguageModelConfig, ModelConfig  # noqa: E402
from treetok.model.data.morphemes import MorphemeConfig, MorphemeVocabulary  # noqa: E402
from treetok.model.decoding import GREEDY, CompositionTrees  # noqa: E402
from treetok.model.device import chosen_device  # noqa: E402
from treetok.model.distillation.distil import DistillationConfig  # noqa: E402
from treetok.model.ensemble import EnsembleMember  # noqa: E402
from treetok.model.network.composition import CompositionModel  # noqa: E402
from treetok.model.network.parser import ParserConfig  # noqa: E402
from treetok.model.presets import Preset  # noqa: E402
from treetok.model.training.trainer import TrainingConfig  # noqa: E402
from treetok.text import profile_named  # noqa: E402

TEXT, _ = Language().text(1500)

MINUTE = Preset(
    ModelConfig(
        CompositionConfig(dimension=8, heads=2, hidden=16, inside_layers=1),
        LanguageModelConfig(layers=1, heads=2),
        max_word_length=9,
    ),
    TrainingConfig(steps=12, sequences=4, words_per_sequence=8, warmup_steps=2),
    (MorphemeConfig("unigram", 150, count_power=0.5), MorphemeConfig("bpe", 100)),
    ParserConfig(dimension=8, heads=2, hidden=16, layers=1),
    DistillationConfig(epochs=2, words_per_batch=128),
)


@pytest.fixture
def tiny_preset(monkeypatch):
    """`tiny` made so small that it takes seconds; nothing is asked of its trees."""
    monkeypatch.setitem(presets.PRESETS, "tiny", MINUTE)


def train(corpus, **options):
    return TreeTokenizer.train(corpus, 300, "neural", "uncased", progress=False, device="cpu", **options)


@pytest.mark.usefixtures("tiny_preset")
def test_a_tokenizer_is_trained_saved_and_loaded(tmp_path):
    long_word = "walkingly" * 5
    tokenizer = train([TEXT, long_word], checkpoints=tmp_path / "training")
    assert tokenizer.settings["trees"] == "neural"
    assert [member["steps"] for member in tokenizer.settings["members"]] == [12, 12]
    assert 0 <= tokenizer.settings["cut_as_the_model_would_of_unseen_words"] <= 1
    assert tokenizer.settings["unseen_words"] > 10
    tokenizer.save(tmp_path / "tokenizer")
    again = TreeTokenizer.load(tmp_path / "tokenizer")
    for word in ["many", long_word, "never§seen東", "unblorked"]:
        assert again.tree(word).brackets() == tokenizer.tree(word).brackets()
        assert again.segment(word) == tokenizer.segment(word)
        assert "".join(again.segment(word)) == word
    for member in ("member-1", "member-2"):
        lines = (tmp_path / "training" / member / "log.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(lines[-1])["step"] == 12


@pytest.mark.usefixtures("tiny_preset")
def test_the_same_seed_gives_the_same_files(tmp_path):
    contents = []
    for name in ("one", "other"):
        train(iter([TEXT]), seed=5).save(tmp_path / name)
        contents.append({path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())})
    assert contents[0] == contents[1]


def test_known_words_have_the_trees_of_the_model_and_others_those_of_the_parser():
    words = ["many", "walkingwalking", "blorks"]
    learned = learn_trees([TEXT], words, profile_named("uncased"), preset=MINUTE, device="cpu")
    assert learned.scores.keys() >= set(words)
    assert set(learned.unseen_words) <= learned.scores.keys()
    from_parser = dict(zip(words, learned.parser.split_scores(words), strict=True))
    # Longer than any chart.
    assert np.array_equal(learned.scores["walkingwalking"], from_parser["walkingwalking"])
    for word in ("many", "blorks"):
        assert np.array_equal(learned.scores[word], np.round(learned.scores[word]))
        assert max(learned.scores[word]) == 0


def test_the_parser_learns_from_made_up_words_too():
    without, with_them = (
        learn_trees([TEXT], [], profile_named("uncased"), preset=dataclasses.replace(MINUTE, pseudo_words=strings))
        for strings in (0, 40)
    )
    assert with_them.scores.keys() == without.scores.keys()
    assert with_them.unseen_words == without.unseen_words
    assert not np.array_equal(with_them.parser.weights["letter"], without.parser.weights["letter"])


@pytest.mark.usefixtures("tiny_preset")
def test_resuming_a_finished_run_trains_no_more(tmp_path):
    first = train([TEXT], checkpoints=tmp_path)
    with pytest.raises(TreetokError, match="has the checkpoint of an earlier run: resume it, or remove"):
        train([TEXT], checkpoints=tmp_path)
    again = train([TEXT], checkpoints=tmp_path, resume=True)
    assert first.state.entries == again.state.entries


@pytest.mark.usefixtures("tiny_preset")
def test_a_run_goes_on_with_the_members_it_did_not_come_to(tmp_path):
    first = train([TEXT], checkpoints=tmp_path)
    shutil.rmtree(tmp_path / "member-2")
    before = (tmp_path / "member-1" / "parameters.safetensors").read_bytes()
    again = train([TEXT], checkpoints=tmp_path, resume=True)
    assert (tmp_path / "member-1" / "parameters.safetensors").read_bytes() == before
    assert first.state.entries == again.state.entries
    assert first.state.lexicon.depths.tolist() == again.state.lexicon.depths.tolist()


def test_a_committee_that_cannot_read_trees_is_refused_before_it_is_trained():
    with pytest.raises(TreetokError, match="from one composition model, not from several"):
        dataclasses.replace(MINUTE, decoding=GREEDY)
    with pytest.raises(TreetokError, match="at least one member"):
        dataclasses.replace(MINUTE, ensemble=())


def test_a_member_is_kept_in_a_file(tmp_path):
    morphemes = MorphemeVocabulary("ab\n", ["ab", "ba"])
    torch.manual_seed(0)
    member = EnsembleMember(CompositionModel(MINUTE.model.composition, len(morphemes)), morphemes)
    path = tmp_path / "member-1.safetensors"
    member.save(path)
    again = EnsembleMember.load(path)
    assert (again.morphemes.characters, again.morphemes.longer) == (["\n", "a", "b"], ["ab", "ba"])
    for name, weight in member.composition.state_dict().items():
        assert torch.equal(again.composition.state_dict()[name], weight.half().float())
    words = ["abab", "ba", "baaab"]
    for one, other in zip(*(CompositionTrees([m]).split_scores(words) for m in (member, again)), strict=True):
        assert one.tolist() == other.tolist()
    whole = path.read_bytes()
    for broken in (b"", whole[:-5], whole.replace(b"heads", b"hands"), b"x" * len(whole)):
        path.write_bytes(broken)
        with pytest.raises(TreetokError, match=r"member-1\.safetensors is damaged"):
            EnsembleMember.load(path)
    with pytest.raises(TreetokError, match="cannot read"):
        EnsembleMember.load(tmp_path / "none.safetensors")


@pytest.mark.usefixtures("tiny_preset")
@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        ([], {}, "the corpus has no words"),
        (["word"], {}, "the corpus is too small to train on: its only word is 'word'"),
        (["abcdefghijklm nopqrstuvwxyz"], {}, "all words of the corpus are too long"),
        (["a b a b"], {}, "too few to learn trees from; choose trees from counts"),
        ([TEXT], {"preset": "huge"}, "unknown preset 'huge': choose paper, fast, tiny"),
        ([TEXT], {"device": "tpu"}, "unknown device 'tpu': choose auto, cpu or cuda"),
        ([TEXT], {"resume": True}, "there is no checkpoint to resume from"),
        ([TEXT], {"preset": ["tiny"]}, "unknown preset"),
        ([TEXT], {"checkpoints": ""}, "it is not the name of a directory"),
        ([TEXT], {"checkpoints": 5}, "it is not the name of a directory"),
        ([TEXT], {"checkpoints": "a\0b"}, "cannot save to"),
        ([TEXT], {"seed": 1 << 70}, "seed must be at most"),
        ([TEXT], {"vocab_size": 10}, "a vocabulary of 10 is too small: 2. characters of the text"),
    ],
)
def test_what_cannot_be_learned_from(corpus, options, message):
    with pytest.raises(TreetokError, match=message):
        options = {"vocab_size": 300, "device": "cpu"} | options
        TreeTokenizer.train(corpus, trees="neural", profile="uncased", progress=False, **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu_where_one_is_asked_for():
    assert chosen_device("auto") == "cpu"
    with pytest.raises(TreetokError, match="no GPU for device 'cuda': PyTorch sees none here"):
        chosen_device("cuda")
    with pytest.raises(TreetokError, match="no GPU"):
        TreeTokenizer.train([TEXT], 300, device="cuda", progress=False)


def test_every_preset_can_be_assembled_for_a_small_text():
    for preset in presets.PRESETS.values():
        fitted = preset.for_text(1000, seed=3)
        assert fitted.training.seed == fitted.distillation.seed == 3
        assert fitted.training.warmup_steps < fitted.training.steps
        assert preset.for_text(10**12, seed=0).training.steps == preset.training.steps


def test_sigterm_stops_the_command_with_a_checkpoint(tmp_path):
    corpus = tmp_path / "text.txt"
    corpus.write_text(TEXT, encoding="utf-8")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "treetok", "train", str(corpus), "-o", str(out), "--vocab-size", "300"]
    command += ["--profile", "uncased", "--device", "cpu"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True)
    log = out / "training" / "member-1" / "log.jsonl"
    end = time.monotonic() + 120
    while not log.exists() and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert f"{out / 'training'} has a checkpoint: go on with --resume" in errors
    step = json.loads((out / "training" / "member-1" / "checkpoint.json").read_text(encoding="utf-8"))["step"]
    assert step >= 10
    assert not (out / "treetok.json").exists()


@pytest.mark.usefixtures("tiny_preset")
def test_rare_words_may_be_left_out():
    assert train([TEXT, "once upon"], min_word_count=2).vocab_size == 300


@pytest.mark.usefixtures("tiny_preset")
def test_a_checkpoint_of_another_text_is_refused(tmp_path):
    train([TEXT], checkpoints=tmp_path)
    with pytest.raises(TreetokError, match="of another run: text:"):
        train([TEXT + " one more"], checkpoints=tmp_path, resume=True)
    directory = tmp_path / "member-1"
    parameters = directory / "parameters.safetensors"
    content = bytearray(parameters.read_bytes())
    content[-3] ^= 1
    parameters.write_bytes(content)
    with pytest.raises(TreetokError, match=r"parameters\.safetensors is damaged: its checksum"):
        train([TEXT], checkpoints=tmp_path, resume=True)
    head = json.loads((directory / "checkpoint.json").read_text(encoding="utf-8"))
    for step in ("abc", -5, 3.5, 10**6):
        (directory / "checkpoint.json").write_text(json.dumps(head | {"step": step}), encoding="utf-8")
        with pytest.raises(TreetokError, match=r"checkpoint\.json is damaged: there is no step"):
            train([TEXT], checkpoints=tmp_path, resume=True)


def test_what_is_for_neural_trees_alone():
    for option in ({"preset": "tiny"}, {"resume": True}, {"device": "cpu"}, {"checkpoints": "x"}):
        with pytest.raises(TreetokError, match="are for trees='neural' alone"):
            TreeTokenizer.train([TEXT], 300, "counts", progress=False, **option)
