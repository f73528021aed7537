"""From text to a tokenizer with neural trees."""

import dataclasses
import json
import shutil
import threading
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from minute import MINUTE, files_of  # noqa: E402
from synthetic import Language  # noqa: E402

from treetok import TreeTokenizer, TreetokError, TreetokWarning  # noqa: E402
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, MorphemeVocabulary  # noqa: E402
from treetok.model.data.piece_model import PieceConfig  # noqa: E402
from treetok.model.decoding import GREEDY, CompositionTrees  # noqa: E402
from treetok.model.device import chosen_device  # noqa: E402
from treetok.model.ensemble import EnsembleMember  # noqa: E402
from treetok.model.network.composition import CompositionModel  # noqa: E402
from treetok.pipeline.ahead import Ahead  # noqa: E402
from treetok.pipeline.artefacts import load_trees  # noqa: E402
from treetok.pipeline.neural import NeuralTraining  # noqa: E402
from treetok.pipeline.options import TrainOptions  # noqa: E402
from treetok.pipeline.time_budget import Budget  # noqa: E402
from treetok.pipeline.vocabulary import without_redundant_words  # noqa: E402
from treetok.progress import Progress  # noqa: E402

TEXT, _ = Language().text(1500)


def train(corpus, preset=MINUTE, **options):
    return TreeTokenizer.train(
        corpus, 300, "neural", "uncased", progress=False, device="cpu", preset=preset, **options
    )


def test_a_tokenizer_is_trained_saved_and_loaded(tmp_path):
    long_word = "walkingly" * 5
    tokenizer = train([TEXT, long_word], directory=tmp_path / "training")
    settings = tokenizer.settings
    assert (settings["trees"], settings["preset"]) == ("neural", "custom")
    assert [settings["stages"][f"member-{k}"]["steps"] for k in (1, 2)] == [12, 12]
    assert [settings["stages"][f"member-{k}"]["seed"] for k in (1, 2)] == [0, 1]
    assert 0 <= settings["stages"]["vocabulary"]["parser_agreement_unseen"] <= 1
    assert settings["unseen_words"] > 10
    assert settings["versions"].keys() == {"treetok", "python", "numpy", "torch"}
    assert len(settings["text_sha256"]) == 64
    tokenizer.save(tmp_path / "tokenizer")
    again = TreeTokenizer.load(tmp_path / "tokenizer")
    for word in ["many", long_word, "never§seen東", "unblorked"]:
        assert again.tree(word).brackets() == tokenizer.tree(word).brackets()
        assert again.segment(word) == tokenizer.segment(word)
        assert "".join(again.segment(word)) == word
    for member in ("member-1", "member-2"):
        lines = (tmp_path / "training" / member / "log.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(lines[-1])["step"] == 12


def test_the_same_seed_gives_the_same_files(tmp_path):
    for name, directory in (("one", None), ("other", tmp_path / "training")):
        train(iter([TEXT]), seed=5, directory=directory).save(tmp_path / name)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")
    train(iter([TEXT]), seed=6).save(tmp_path / "third")
    assert files_of(tmp_path / "one") != files_of(tmp_path / "third")


def test_morphemes_found_ahead_are_the_same(tmp_path, monkeypatch):
    train([TEXT]).save(tmp_path / "in turn")
    began = []

    class Spy(Ahead):
        def __init__(self, compute):
            began.append(compute)
            super().__init__(compute)

    monkeypatch.setattr("treetok.pipeline.ensemble.DEVICES_WITH_IDLE_CPU", ("cpu",))
    monkeypatch.setattr("treetok.pipeline.ensemble.Ahead", Spy)
    train([TEXT]).save(tmp_path / "ahead")
    assert len(began) == 1
    assert files_of(tmp_path / "in turn") == files_of(tmp_path / "ahead")


@pytest.mark.parametrize("threads", [1, 3])
def test_rare_words_that_the_parser_gets_right_are_left_out(threads, monkeypatch):
    monkeypatch.setattr("treetok.pipeline.vocabulary.WORDS_PER_THREAD", 2)

    class AlwaysLeft:
        def split_scores(self, words):
            return [[float(at) for at in range(len(word) - 1)] for word in words]

    scores = {"aab": [0, 1], "aba": [1, 0], "abb": [0, 1], "baa": [1, 0], "bab": [0, 1], "bba": [0, 1]}
    counts = {"aab": 1, "aba": 1, "abb": 2, "baa": 2, "bba": 1}
    assert without_redundant_words(list(scores), scores, counts, AlwaysLeft(), threads) == ["aba", "abb", "baa"]


def test_an_error_ahead_of_time_is_raised_where_the_result_is_needed():
    ahead = Ahead(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        ahead.result()


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_kernels_are_compiled_while_words_are_counted(device, monkeypatch):
    pytest.importorskip("triton", reason="Triton is not installed")
    began, may_end, ended = threading.Event(), threading.Event(), []

    def compile_slowly(preset, on):
        began.set()
        assert may_end.wait(30)
        ended.append((preset, on))
        raise RuntimeError("cannot be compiled")

    monkeypatch.setattr("treetok.model.precompile.precompile_kernels", compile_slowly)
    options = TrainOptions(vocab_size=500, preset=MINUTE, device="cpu")
    neural = NeuralTraining.prepare(options, Budget(), Progress(False))
    with dataclasses.replace(neural, device=device).compiling_kernels():
        if device == "cuda":
            assert began.wait(30) and not ended
            may_end.set()
    # Whoever needs the kernels reports what is wrong with them.
    assert ended == ([(MINUTE, "cuda")] if device == "cuda" else [])


def test_the_threads_of_the_machine_do_not_change_the_files(tmp_path):
    for threads in (1, 2):
        torch.set_num_threads(threads)
        train([TEXT]).save(tmp_path / str(threads))
        assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")


@pytest.mark.parametrize(("asked_for", "used"), [(None, 1), (2, 2)])
def test_training_uses_one_thread_unless_told_otherwise(asked_for, used, monkeypatch):
    during_training = []
    monkeypatch.setattr(
        "treetok.pipeline.ensemble.free_memory", lambda device: during_training.append(torch.get_num_threads())
    )
    train([TEXT], threads=asked_for)
    assert during_training == [used] * len(MINUTE.ensemble)


def test_known_words_have_the_trees_of_the_ensemble_and_others_those_of_the_parser(tmp_path):
    tokenizer = train([TEXT, "walkingwalking walkingwalking"], directory=tmp_path)
    decoded = load_trees((tmp_path / "trees.safetensors").read_bytes())
    lexicon, parser = tokenizer.state.lexicon, tokenizer.state.source
    assert "walkingwalking" not in decoded
    differing = 0
    for word, scores in decoded.items():
        stored = lexicon.scores(word)
        # A rare word is left out of the lexicon only where the parser gives it the same tree.
        assert tokenizer.tree(word).scores() == scores
        differing += stored is not None and np.argmax(parser.split_scores([word])[0]) != np.argmax(scores)
    assert differing > 0
    # Longer than any chart.
    from_parser = parser.split_scores(["walkingwalking"])[0]
    top = tokenizer.tree("walkingwalking").scores().index(0)
    assert top == int(np.argmax(from_parser))


def test_words_too_long_to_train_on_may_be_decoded(tmp_path):
    tokenizer = train(
        [TEXT, "walkingwalking walkingwalking"], directory=tmp_path, settings={"decoding.max_word_length": 14}
    )
    decoded = load_trees((tmp_path / "trees.safetensors").read_bytes())
    assert tokenizer.tree("walkingwalking").scores() == decoded["walkingwalking"]
    figures = tokenizer.settings["stages"]["trees"]
    assert (figures["longer_words"], figures["longer_words_share_of_text"]) == (0, 0)
    with pytest.raises(TreetokError, match=r"decoding\.max_word_length must be at least 3, not 2"):
        train([TEXT], settings={"decoding.max_word_length": 2})


def test_the_parser_learns_from_pseudo_words_too():
    without, with_them = (train([TEXT], settings={"pseudo_words": strings}) for strings in (0, 40))
    strings = [tokenizer.settings["stages"]["trees"]["pseudo_words"] for tokenizer in (without, with_them)]
    # There are hardly any strings that look like words of so regular a language, but are none.
    assert strings[0] == 0 < strings[1] <= 40
    weights = [tokenizer.state.source.weights["letter"] for tokenizer in (with_them, without)]
    assert not np.array_equal(*weights)


def test_morphemes_that_the_trees_of_other_members_suggest(tmp_path):
    preset = dataclasses.replace(MINUTE, ensemble=(*MINUTE.ensemble, MorphemeConfig("trees", 200)))
    tokenizer = train([TEXT], preset, directory=tmp_path)
    assert tokenizer.settings["stages"]["morphemes-3"]["method"] == "trees"
    suggested = json.loads((tmp_path / "morphemes-3.json").read_text(encoding="utf-8"))["morphemes"]
    assert suggested
    # The parser is told of those alone.
    assert set(tokenizer.state.source.morphemes) == {string for string in suggested if len(string) <= 8}
    with pytest.raises(TreetokError, match="the first member of an ensemble has no trees"):
        dataclasses.replace(MINUTE, ensemble=(MorphemeConfig("trees"),))


HAN = [chr(0x4E00 + number) for number in range(400)]


@pytest.mark.parametrize(
    "text",
    [
        # More characters than a member has morphemes.
        " ".join(HAN[at % 400] + HAN[at * 7 % 400] + HAN[at * 3 % 400] for at in range(900)),
        "abc abd abe",
        "123 456 789 12 345 678",
        "!!! ??? ... ,,,",
    ],
    ids=["many characters", "three words", "digits", "punctuation"],
)
def test_every_kind_of_morphemes_copes_with_every_text(text):
    kinds = [("bpe", 60), ("unigram", 60), ("stems", 60), ("trees", 60), ("unigram", 120)]
    preset = dataclasses.replace(
        MINUTE,
        ensemble=tuple(MorphemeConfig(method, size, count_power=0.5) for method, size in kinds),
        training=dataclasses.replace(MINUTE.training, steps=2),
        pseudo_words=20,
    )
    with warnings.catch_warnings():
        # The texts are too small for the vocabulary.
        warnings.simplefilter("ignore", TreetokWarning)
        tokenizer = TreeTokenizer.train(
            [text], 1000, "neural", "lossless", progress=False, device="cpu", preset=preset
        )
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert all(f"member-{number}" in tokenizer.settings["stages"] for number in range(1, 6))


def test_text_for_the_lexicon_alone(tmp_path):
    further = tmp_path / "further.txt"
    further.write_text("zebra zebra quagga quagga\n", encoding="utf-8")
    plain, more = train([TEXT]), train([TEXT], lexicon_text=[further])
    assert more.state.lexicon.scores("zebra") is not None
    assert plain.state.lexicon.scores("zebra") is None
    assert more.settings["words_in_corpus"] == plain.settings["words_in_corpus"]
    assert more.token_to_id("zebra") is None


def test_gold_is_watched(tmp_path, capsys):
    gold = tmp_path / "gold.tsv"
    gold.write_text("walked\twalk ed\nlighthouse\tlight house\n", encoding="utf-8")
    train([TEXT], gold=[gold], directory=tmp_path / "training")
    log = (tmp_path / "training" / "member-2" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    counted, dropped = json.loads(log[-1])["recall_gold"]
    assert 0 <= dropped <= 100
    assert 0 <= counted <= 100
    # With progress off nothing is shown.
    assert capsys.readouterr().err == ""
    gold.write_text("walked\twalk\n", encoding="utf-8")
    with pytest.raises(TreetokError, match=r"gold\.tsv"):
        train([TEXT], gold=[gold])


def test_an_ensemble_that_cannot_be_decoded_is_refused_before_it_is_trained():
    one = dataclasses.replace(MINUTE, ensemble=MINUTE.ensemble[:1], decoding=GREEDY)
    for further in ({"ensemble": MINUTE.ensemble}, {"pieces": PieceConfig(100)}):
        with pytest.raises(TreetokError, match="trees of one model, not of an ensemble"):
            dataclasses.replace(one, **further)
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


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        ([], {}, "the corpus has no words"),
        (["word"], {}, "the corpus is too small to train on: its only word is 'word'"),
        (["abcdefghijklm nopqrstuvwxyz"], {}, "all words of the corpus are too long"),
        (["a b a b"], {}, "too few to learn trees from; choose trees from counts"),
        ([TEXT], {"preset": "huge"}, "unknown preset 'huge': choose best, fast, tiny, paper"),
        ([TEXT], {"device": "tpu"}, "unknown device 'tpu': choose auto, cpu or cuda"),
        ([TEXT], {"resume": True}, "there is nothing to resume: no directory was given"),
        ([TEXT], {"preset": ["tiny"]}, "unknown preset"),
        ([TEXT], {"directory": ""}, "it is not the name of a directory"),
        ([TEXT], {"directory": 5}, "it is not the name of a directory"),
        ([TEXT], {"directory": "a\0b"}, "cannot save to"),
        ([TEXT], {"seed": 1 << 70}, "seed must be at most"),
        ([TEXT], {"vocab_size": 10}, "a vocabulary of 10 is too small: 2. characters of the text"),
        (
            [TEXT],
            {"settings": {"training.step": 3}},
            "unknown setting 'training.step': did you mean 'training.steps'",
        ),
        ([TEXT], {"settings": {"training.steps": 0}}, "steps must be at least 1"),
        ([TEXT], {"minutes": 0}, "minutes must be a number above 0"),
        ([TEXT], {"minutes": 1e-9}, "--minutes 1e-09 is too short"),
        ([TEXT], {"lexicon_text": ["nowhere.txt"]}, "no such file: nowhere.txt"),
        ({"word": 3}, {}, "are learned from running text, not from word counts"),
    ],
)
def test_what_cannot_be_learned_from(corpus, options, message):
    with pytest.raises(TreetokError, match=message):
        options = {"vocab_size": 300, "device": "cpu", "preset": MINUTE} | options
        TreeTokenizer.train(corpus, trees="neural", profile="uncased", progress=False, **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu_where_one_is_asked_for():
    assert chosen_device("auto") == "cpu"
    with pytest.raises(TreetokError, match="no GPU for device 'cuda': PyTorch sees none here"):
        chosen_device("cuda")
    with pytest.raises(TreetokError, match="no GPU"):
        TreeTokenizer.train([TEXT], 300, device="cuda", progress=False)


def test_rare_words_may_be_left_out():
    assert train([TEXT, "once upon"], min_word_count=2).vocab_size == 300


def test_a_time_budget_ends_training_early(tmp_path):
    preset = dataclasses.replace(
        MINUTE, training=dataclasses.replace(MINUTE.training, steps=10**6), max_epochs=10**9, pseudo_words=50
    )
    tokenizer = train([TEXT], preset, minutes=0.2)
    assert all(1 <= tokenizer.settings["stages"][f"member-{k}"]["steps"] < 10**6 for k in (1, 2))
    assert tokenizer.vocab_size == 300


# ---- resuming


def test_resuming_a_finished_run_trains_no_more(tmp_path):
    first = train([TEXT], directory=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(TreetokError, match="has an earlier run: continue it with --resume, or pass --force"):
        train([TEXT], directory=tmp_path)
    again = train([TEXT], directory=tmp_path, resume=True)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir() if path.is_file()} == before
    assert first.state.entries == again.state.entries


def test_resuming_nothing_begins(tmp_path):
    assert train([TEXT], directory=tmp_path / "new", resume=True).vocab_size == 300


def test_another_vocabulary_redoes_the_last_stage_alone(tmp_path):
    train([TEXT], directory=tmp_path)
    before = (tmp_path / "parser.safetensors").stat().st_mtime_ns
    larger = TreeTokenizer.train(
        [TEXT], 320, "neural", "uncased", progress=False, preset=MINUTE, directory=tmp_path, resume=True
    )
    assert larger.vocab_size == 320
    assert (tmp_path / "parser.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        ([TEXT + " one more"], {}, "another training: text: "),
        ([TEXT], {"seed": 4}, "another training: seed: 0 there, 4 here"),
        ([TEXT], {"settings": {"training.steps": 13}}, "another training: training: steps: 12 there, 13 here"),
        ([TEXT], {"preset": "tiny"}, "another training: preset: custom there, tiny here"),
    ],
)
def test_the_run_of_another_training_is_refused(tmp_path, corpus, options, message):
    train([TEXT], directory=tmp_path)
    before = (tmp_path / "member-1.safetensors").read_bytes()
    with pytest.raises(TreetokError, match=message):
        train(corpus, directory=tmp_path, resume=True, **options)
    assert (tmp_path / "member-1.safetensors").read_bytes() == before


def remove(path):
    path.unlink()


def spoil(path):
    path.write_bytes(b"damaged")


@pytest.mark.parametrize(
    ("file", "stage", "damage"),
    [
        ("words.tsv", "words", spoil),
        ("word_ids.safetensors", "words", remove),
        ("morphemes-1.json", "morphemes-1", spoil),
        ("member-2.safetensors", "member-2", remove),
        ("trees.safetensors", "trees", spoil),
        ("parser.safetensors", "parser", remove),
        ("unseen_words.txt", "parser", spoil),
        ("lexicon.safetensors", "lexicon", remove),
        ("vocabulary.tsv", "vocabulary", spoil),
    ],
)
def test_damaged_artefacts_are_made_again(finished_run, tmp_path, file, stage, damage):
    directory, expected = finished_run
    shutil.copytree(directory, tmp_path / "training")
    damage(tmp_path / "training" / file)
    with pytest.warns(TreetokWarning, match=rf"{file} is (missing|damaged): the stage '{stage}' is done again"):
        again = train([TEXT], directory=tmp_path / "training", resume=True)
    again.save(tmp_path / "tokenizer")
    assert files_of(tmp_path / "tokenizer") == expected


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    train([TEXT], directory=folder / "training").save(folder / "tokenizer")
    return folder / "training", files_of(folder / "tokenizer")


def test_a_record_that_cannot_be_read(tmp_path):
    train([TEXT], directory=tmp_path)
    for content in ("{", "[]", '{"version": 1}', '{"version": 99}'):
        (tmp_path / "run.json").write_text(content, encoding="utf-8")
        with pytest.raises(TreetokError, match=r"run\.json is (damaged|of another version)"):
            train([TEXT], directory=tmp_path, resume=True)


def test_options_of_neural_trees_alone():
    wrong = (
        {"preset": "tiny"},
        {"device": "cpu"},
        {"minutes": 3},
        {"settings": {"a": 1}},
        {"gold": ["x"]},
        {"threads": 2},
    )
    for option in wrong:
        with pytest.raises(TreetokError, match="for neural trees alone"):
            TreeTokenizer.train([TEXT], 300, "counts", progress=False, **option)
    for option in ({"directory": "x"}, {"resume": True}, {"force": True}):
        with pytest.raises(TreetokError, match=f"^{next(iter(option))}: for neural trees alone"):
            TreeTokenizer.train([TEXT], 300, "counts", progress=False, **option)
