"""The table at the end of a run."""

from treetok.pipeline.run_directory import StageRecord
from treetok.pipeline.summary import summary
from treetok.pipeline.train_tokenizer import Trained

NOTE = "a model that --minutes cut short is kept as it is: to train it longer, choose another directory"


def member(steps):
    return StageRecord(
        {"training": {"steps": 750}}, {}, {"steps": steps, "parameters": 9}, 13.0, {"cpu": 5_000_000}
    )


def test_a_model_that_was_cut_short_shows_its_steps_and_is_not_silently_kept():
    short, whole = {"member-1": member(108)}, {"member-1": member(750)}
    now = summary(Trained(None, short, set())).splitlines()
    assert now[-1] == "member-1    0:13    5.0 MB       108 of 750 steps, 9 parameters"
    later = summary(Trained(None, short, {"member-1"})).splitlines()
    assert later[-2:] == ["* done in an earlier run", NOTE]
    whole_later = summary(Trained(None, whole, {"member-1"})).splitlines()
    assert "750 steps, 9 parameters" in whole_later[1] and "of 750" not in whole_later[1]
    assert whole_later[-1] == "* done in an earlier run"
    # Another stage is done again, the model is new.
    mixed = {"words": StageRecord({}, {}, {"words": 5}, 1.0, {}), **short}
    assert summary(Trained(None, mixed, {"words"})).splitlines()[-1] == "* done in an earlier run"


def test_figures_of_another_kind_are_shown_as_they_are():
    for steps in ("many", None, [1]):
        assert "of 750" not in summary(Trained(None, {"member-1": member(steps)}, {"member-1"}))
