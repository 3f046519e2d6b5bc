"""Every page and every control, without a browser: what a visitor sets is what the page shows and what its link says."""

import json
import re
from itertools import count

import numpy as np
import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from addnorm.words import number
from components.controls import task_pictures
from components.player.feed import frame_json
from components.playground.presets import PRESETS, preset_hint
from components.playground.tried import MAX_NETS
from models.insight.sentences import sentences_at
from models.instruments.task_examples import task_examples
from models.service.client import trainer
from models.service.interface import Answer, Status
from models.service.worker_process import ROOT
from models.spec import ARRANGEMENTS, TASKS, RunConfig, knobs
from models.spec.arrangements import architecture_fields
from tests.app_page import (
    SMALL,
    address,
    arrange,
    arranged,
    by_link,
    charts,
    configuration,
    line,
    now,
    playground,
    press,
    sound,
    unfolded,
)
from tests.player_page import declared, following, logs, panels, rests, says

PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py") if path.name != "navigation.py")

# One legal value of every field that the base below does not have; a new field needs a line here.
MOVED = {
    "net": "transformer",
    "task": "circles",
    "depth": 5,
    "width": 32,
    "heads": 4,
    "expansion": 2,
    "layers_per_branch": 1,
    "activation": "tanh",
    "position": "none",
    "mask": "none",
    "residual": False,
    "placement": "sandwich",
    "norm": "rms norm",
    "eps": 0.5,
    "affine": False,
    "qk_norm": True,
    "value_residual": True,
    "skip_scale": "deepnorm",
    "branch_scale": 0.5,
    "input_scale": "1/sqrt(block)",
    "branch_dropout": 0.25,
    "stream_dropout": 0.125,
    "stack": "dlcl",
    "streams": 3,
    "mixing_noise": 0.25,
    "sinkhorn": 0,
    "depth_block": 2,
    "skip_repeats": 2,
    "init": "orthogonal",
    "init_gain": 2.0,
    "parametrization": "muP",
    "optimizer": "adamw",
    "lr": 0.02,
    "warmup": 3,
    "schedule": "cosine",
    "clip": 1.0,
    "weight_decay": 0.1,
    "decayed": "all",
    "batch": 9,
    "steps": 41,
    "seed": 7,
    "device": "cpu",
}
# What a net does before its first update does not depend on these.
LATER = {"affine", "optimizer", "lr", "warmup", "schedule", "clip", "weight_decay", "decayed", "steps", "device"}
BASE = {"depth": "3", "width": "16", "batch": "8", "steps": "40", "placement": "post-norm"}
TRANSFORMER = {"net": "transformer", "heads": "2", "optimizer": "adam", "lr": "0.001"}
# Fields act there: the head reads the sum of the streams, which a norm before it would scale back, and what mixes the
# streams leaves their mean alone once Sinkhorn has balanced it.
MIXED = {"stack": "mHC", "placement": "none", "norm": "none"}
ACTS = {
    "streams": MIXED,
    "mixing_noise": MIXED | {"sinkhorn": "0"},
    "sinkhorn": MIXED | {"mixing_noise": "0.5"},
    "depth_block": {"stack": "attention residuals"},
}

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


def move(page: AppTest, field: str, value: object) -> AppTest:
    """Moves the control of a field."""
    kinds, knob = knobs()[field]
    if kinds == (bool,):
        control = page.toggle(key=field)
    elif field in ("net", "task"):
        control = page.get_by_key(field)
    elif knob.choices is not None or knob.rules is not None:
        control = page.selectbox(key=field)
    else:
        control = next(one for one in (*page.slider, *page.select_slider, *page.number_input) if one.key == field)
    control.set_value(value)
    return sound(page.run())


@pytest.mark.parametrize("path", PAGES)
def test_every_page_opens(path):
    page = by_link(path)
    assert len(page.title) == 1


OF_EACH_KIND = ("depth", "residual", "norm", "skip_scale", "seed")  # a slider, a switch, a choice, a rule, a number


@pytest.mark.parametrize(
    "field",
    [
        pytest.param(field, marks=() if field in OF_EACH_KIND else pytest.mark.full)
        for field in knobs()
        if field != "overrides"
    ],
)
def test_a_moved_control_redraws_the_signal_and_writes_the_link(field):
    base = (BASE if "mlp" in knobs()[field][1].nets else BASE | TRANSFORMER) | ACTS.get(field, {})
    page = unfolded(playground(**base))
    before, value = now(page), MOVED[field]
    move(page, field, value)
    cfg = configuration(page)
    assert getattr(cfg, field) == value
    assert address(page) == cfg.to_query() != base
    assert all(all(y is not None for y in profile) for profile in now(page))
    assert (now(page) == before) == (field in LATER)


@pytest.mark.parametrize("net", ["mlp", "transformer"])
@pytest.mark.full
def test_an_arrangement_sets_its_fields_and_the_menu_is_called_by_its_name(net):
    base = BASE if net == "mlp" else BASE | TRANSFORMER
    page, kept = playground(**base), RunConfig.from_query(base)[0].to_query()
    for name in ARRANGEMENTS:
        arrange(page, name)
        architecture = architecture_fields(name, 3)
        assert arranged(page) == name
        assert {field: getattr(configuration(page), field) for field in architecture} == architecture
        assert address(page) == configuration(page).to_query()
        untouched = {key: value for key, value in address(page).items() if key not in architecture}
        assert untouched == {key: value for key, value in kept.items() if key not in architecture}


def test_a_field_of_its_own_turns_the_arrangement_into_custom_and_back():
    page = unfolded(playground(**SMALL))
    assert arranged(page) == "pre-norm"
    move(page, "init", "orthogonal")
    assert arranged(page) == "custom"
    move(page, "init", "gpt2")
    assert arranged(page) == "pre-norm + GPT-2 init"


@pytest.mark.parametrize("path", ["playground.py", "anatomy.py"])
def test_one_control_shows_where_the_norm_sits(path):
    page = by_link(path, **SMALL)
    assert arranged(page) == "pre-norm"
    assert "placement" not in [box.key for box in page.selectbox]
    move(unfolded(page), "placement", "pre+post")
    assert arranged(page) == "custom"
    hidden = by_link(path, **SMALL, hide="arrangement")
    assert "placement" in [box.key for box in hidden.selectbox], "nothing else shows it"


@pytest.mark.parametrize("at", [1, *(1 + k * len(TASKS) for k in (1, 2, 3))])
def test_a_task_stays_chosen_whenever_its_picture_comes(monkeypatch, at):
    page, asked = playground(**SMALL), count(1)

    class Busy:
        def status(self):
            return Status("ready", "")

        def ask(self, *_):
            return Answer(task_examples()) if next(asked) >= at else None

    monkeypatch.setattr(task_pictures, "_pictures", {})
    monkeypatch.setattr(task_pictures, "trainer", Busy)
    for _ in range(at):
        sound(page.run())
        assert configuration(page).task == "digits"
    assert task_pictures.labels()["digits"].endswith(") digits")


@pytest.mark.parametrize("field", ["net", "task"])
def test_no_choice_is_the_default(field):
    page = playground(**SMALL)
    page.get_by_key(field).set_value(None)
    assert all(now(sound(page.run())))
    assert field not in address(page)


def test_a_net_brings_a_task_and_an_optimiser_that_suit_it():
    page = playground()
    move(page, "net", "transformer")
    cfg = configuration(page)
    assert (cfg.task, cfg.depth, cfg.optimizer, cfg.lr) == ("book", 8, "adam", 0.001)
    move(page, "net", "mlp")
    assert address(page) == {}


def test_the_picture_before_a_change_stays_as_a_previous_profile():
    page = playground(**SMALL)
    before = now(page)
    assert line(page, "Signal by depth", "previous") is None
    legend = [charts(page)["Signal by depth"]["layout"]["showlegend"]]
    move(page, "residual", False)
    legend.append(charts(page)["Signal by depth"]["layout"]["showlegend"])
    assert legend == [False, True], "a single line is the step that the player says"
    assert line(page, "Signal by depth", "previous") == before[0]
    assert line(page, "Gradient by depth", "previous") == before[1]
    assert "previous: pre-norm, step {step}" in names(page)


@pytest.mark.parametrize("change", [{"task": "spiral"}, {"net": "transformer"}])
def test_nets_of_other_tasks_do_not_lie_over(change):
    page = playground(**SMALL, residual="false", norm="none", activation="sigmoid")
    move(page, "norm", "layer norm")
    move(page, "norm", "rms norm")
    says_of_tried(page, "over", "norm layer norm")
    held = panels(page, "chart")["Gradient by depth"]["fit"]
    for field, value in change.items():
        move(page, field, value)
    for chart in ("Signal by depth", "Gradient by depth", "Weight gradient by depth"):
        assert line(page, chart, "previous") is None
        assert line(page, chart, "pinned") is None
        assert panels(page, "chart")[chart]["fit"] > held  # another one lets go of the ranges
    assert all(net["unfit"] and not net["pressed"] for net in tried_nets(page))


def test_the_axes_are_held_until_they_are_fitted():
    page = playground(**SMALL)
    held = panels(page, "chart")["Gradient by depth"]["fit"]
    move(page, "residual", False)
    assert panels(page, "chart")["Gradient by depth"]["fit"] == held
    press(page, "Rescale")
    assert {panel["fit"] for panel in panels(page, "chart").values()} == {held + 1}


def test_a_far_deeper_net_does_not_lie_over():
    page = playground(**SMALL)
    first = now(page)[0]
    move(page, "depth", 2)
    assert line(page, "Signal by depth", "previous") == first
    move(page, "depth", 5)
    move(page, "depth", 2)
    assert line(page, "Signal by depth", "previous") is None
    assert {net["text"]: bool(net["unfit"]) for net in tried_nets(page)} == {"depth 5": True, "depth 4": False}
    says_of_tried(page, "over", "depth 5")
    assert declared(page)["beside"] == []


def test_a_pressed_net_stays_until_it_is_pressed_again():
    page = playground(**SMALL)
    first = now(page)[0]
    move(page, "residual", False)
    says_of_tried(page, "over", "pre-norm")  # the previous one, which goes
    assert line(page, "Signal by depth", "previous") is None
    says_of_tried(page, "over", "pre-norm")
    move(page, "norm", "none")
    assert line(page, "Signal by depth", "pinned") == first
    assert line(page, "Signal by depth", "previous") not in (None, first)
    assert {"previous", "pinned"} < {trace["role"] for trace in charts(page)["Loss"]["data"]}
    assert {net["text"] for net in tried_nets(page) if net["pressed"]} == {"pre-norm", "norm layer norm"}
    for net in tried_nets(page):
        says_of_tried(page, "over", net["text"])
    assert line(page, "Signal by depth", "pinned") is None
    assert line(page, "Signal by depth", "previous") is None


def test_tried_nets_are_few_and_each_once():
    page = unfolded(playground(**SMALL, seed="41"))
    move(rests(page, 3), "norm", "none")
    for seed in range(50, 64):
        move(page, "seed", seed)
    move(page, "seed", 60)
    told = tried_nets(page)
    assert [net["text"] for net in told[:2]] == ["seed 63", "seed 62"]
    assert len({net["key"] for net in told}) == len(told) == MAX_NETS - 1, "beside the present one"
    assert told[-1]["text"] == "pre-norm, seed 41", "a trained one outlives others"
    assert (told[-1]["step"], told[0]["step"]) == ("step 3", "step 0")


def test_a_tried_net_is_loaded_as_a_link_loads_it():
    page = playground(**SMALL)
    first = configuration(page)
    arrange(page, "DeepNorm")
    move(page, "depth", 6)
    says_of_tried(page, "load", "pre-norm, depth 4")
    assert configuration(page) == first
    assert address(page) == SMALL
    assert line(page, "Signal by depth", "previous") is not None
    assert "pre-norm" not in {net["text"] for net in tried_nets(page)}


def test_tried_pictures_are_the_measured_profiles():
    page = unfolded(playground(**SMALL, norm="none", init_gain="2"))
    log = trainer().log(configuration(page)).trace()
    move(page, "init_gain", 1.0)
    (net,) = tried_nets(page)
    heights = np.array(re.findall(r"[ML]\d+ ([\d.]+)", net["signal"]), float)
    sizes, rise = np.log10(log.act_rms[0]), (heights[0] - heights) / (heights[0] - heights[-1])
    assert rise == pytest.approx((sizes - sizes[0]) / (sizes[-1] - sizes[0]), abs=0.02)
    assert net["says"].startswith(f"Signal {number(log.act_rms[0][0])} to {number(log.act_rms[0][-1])}, gradient ")
    assert net["text"] == "init gain 2"


def test_a_net_of_fewer_steps_says_where_it_ended():
    page = rests(playground(**SMALL | {"steps": "12"}, seed="38"), 12)
    page.query_params["steps"] = "40"
    page.run()
    assert strip(page)["note"] == ""
    rests(page, 20)
    assert strip(page)["note"] == "steps 12 came to step 12 and has no curve at step 20."


def test_a_dropped_log_is_not_made_up():
    page = rests(playground(**SMALL, seed="39"), 8)
    before = configuration(page)
    move(page, "residual", False)
    results = trainer()._results
    gone = results.logs.pop(trainer().log(before).key)
    gone.delete()
    rests(page, 5)
    assert strip(page)["note"] == "pre-norm is no longer kept after step 0: load it and press Train."
    assert line(page, "Signal by depth", "previous", step=5) == []
    assert tried_nets(page)[0]["step"] == "step 8"


@pytest.mark.parametrize(("hidden", "is_shown"), [("verdict", False), ("residual", False), ("seed", True)])
def test_hidden_settings_are_not_told_of_tried_nets(hidden, is_shown):
    page = playground(**SMALL, hide=hidden)
    page.query_params["residual"] = "false"
    sound(page.run())
    assert bool(strip(page)) == is_shown
    assert "residual" not in names(page) or hidden != "residual"


def test_every_panel_opens_and_only_the_open_one_is_drawn():
    page = playground(**SMALL)
    drawn, always = {}, {"Loss", "Signal by depth", "Gradient by depth"}
    for panel in page.get_by_key("panel").options:
        page.get_by_key("panel").set_value(panel)
        sound(page.run())
        drawn[panel] = set(charts(page)) - always
    assert drawn == {
        "Weights and samples": {"Weight gradient by depth", "Sample cosine by depth"},
        "Layer and step": {"Signal by layer and step", "Gradient by layer and step"},
        "What the net says": {"Digit mistakes"},
    }


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("net", ["mlp", "transformer"])
@pytest.mark.full
def test_every_task_shows_what_the_net_says(task, net):
    page = playground(**SMALL | (TRANSFORMER if net == "transformer" else {}), task=task, panel="what-the-net-says")
    cfg, kind = configuration(page), TASKS[task].kind
    (log,) = logs(page, 1)
    frame = log.trace().frame_at(1)
    assert f"held-out accuracy {frame.held_out_accuracy:.1%}" in sentences_at(cfg, log.trace(), 1)["answers"]
    picture = frame_json(cfg, frame)["picture"]
    on_demand = ["Weights and samples", "Layer and step", *(["What the net says"] if kind == "image" else [])]
    assert page.get_by_key("panel").options == on_demand
    if kind == "text":
        assert set(panels(page, "text")) == {"What the net writes"}
        assert not page.info
        assert (picture["prompt"], picture["sample"]) == (frame.picture["prompt"], frame.picture["sample"])
    else:
        chart = {"image": "Digit mistakes", "points": "Decision regions", "sequence": "Input, target and answer"}
        assert panels(page, "chart")[chart[kind]]["figure"] is None
        assert picture["data"]
        assert len(panels(page, "digit")) == (kind == "image")


def test_a_visitor_who_walks_away_and_back_finds_what_was_set():
    page = playground(**SMALL)
    move(page, "norm", "rms norm")
    page.switch_page("start.py")
    page.query_params.clear()
    sound(page.run())
    page.switch_page("playground.py")
    sound(page.run())
    assert address(page) == SMALL | {"norm": "rms norm"}
    assert configuration(page).norm == "rms norm"


def test_step_0_reads_the_same_to_a_visitor_who_comes_after_another():
    first = playground(**SMALL, seed="32")
    before = declared(first)
    rests(first)
    second = playground(**SMALL, seed="32")
    assert trainer().log(configuration(second)).done
    after = declared(second)
    assert [after[key] for key in ("panels", "runs", "facts")] == [before[key] for key in ("panels", "runs", "facts")]


def names(page: AppTest) -> str:
    """The legend of the activation's chart."""
    return " ".join(trace["name"] for trace in charts(page)["Signal by depth"]["data"])


def strip(page: AppTest) -> dict:
    """What the page says of the nets that were tried; empty without any."""
    return next((data for _, data in strips(page)), {})


def strips(page: AppTest) -> list:
    found = [(element.proto, json.loads(element.proto.json)) for element in page.get("bidi_component")]
    return [(proto, data) for proto, data in found if "nets" in data and "note" in data]


def tried_nets(page: AppTest) -> list:
    return strip(page)["nets"]


def says_of_tried(page: AppTest, event: str, text: str) -> AppTest:
    """The page after a press on a tried net."""
    ((proto, data),) = strips(page)
    key = next(net["key"] for net in data["nets"] if net["text"] == text)
    for said in ({event: key}, {}):  # a browser takes a press back once it is heard
        states = page._tree.get_widget_states()
        states.widgets.append(WidgetState(id=proto.id, json_value=json.dumps(said)))
        page._run(states)
    return sound(page)


def test_the_previous_net_is_shown_at_the_same_step():
    page = rests(playground(**SMALL | {"steps": "12"}, seed="37"), 9)
    before = trainer().log(configuration(page)).trace().act_rms
    move(page, "residual", False)
    for step in (0, 4, 9):
        rests(page, step)
        assert line(page, "Signal by depth", "previous", step) == pytest.approx(before[step], rel=1e-3)
    rests(page, 12)
    assert line(page, "Signal by depth", "previous", 12) == [], "it came to step 9"


def test_a_loss_to_stop_at_is_told_to_the_browser_and_stays_with_the_visitor():
    page = playground(**SMALL, seed="34")
    assert declared(page)["stop_loss"] == 0
    page.number_input(key="playground_stop_loss").set_value(1.5)
    assert declared(sound(page.run()))["stop_loss"] == 1.5
    page.switch_page("start.py")
    sound(page.run())
    page.switch_page("playground.py")
    for key, value in (SMALL | {"seed": "35"}).items():
        page.query_params[key] = value
    assert declared(sound(page.run()))["stop_loss"] == 1.5, "another run, after a walk to another page"
    assert page.number_input(key="playground_stop_loss").value == 1.5


def touched(page, asked=1, **net):
    """The page after its drawing has asked for another net."""
    (stack,) = panels(page, "stack").values()
    return says(page, {"choice": stack["net"] | net | {"asked": asked}}, part="over")


def test_the_drawing_sets_the_fields_that_its_controls_show():
    page = touched(playground(**SMALL, norm="rms norm"), residual=False, norm=False, out=[2], own=[[3, True]])
    assert address(page) == SMALL | {
        "residual": "false",
        "norm": "none",
        "overrides": "2.identity.true,3.residual.true",
    }
    assert [page.toggle(key="residual").value, page.selectbox(key="norm").value] == [False, "none"]
    (stack,) = panels(page, "stack").values()
    assert [(block["skip"], block["out"]) for block in stack["blocks"]] == [
        (0, False),
        (1, True),
        (1, False),
        (0, False),
    ]
    page = touched(page, 2, norm=True, out=[], own=[], depth=2)
    assert address(page) == SMALL | {"residual": "false", "norm": "rms norm", "depth": "2"}, "the norm that it was"
    (stack,) = panels(page, "stack").values()
    assert (stack["net"]["heard"], stack["refused"]) == (2, "")


def test_a_refused_touch_is_said_and_drawn_back():
    page = playground(**SMALL, stack="residual", placement="post-norm")
    before = address(page)
    page = touched(page, residual=False)
    (stack,) = panels(page, "stack").values()
    assert stack["refused"].startswith("Stack residual (ResiDual) is made of residuals")
    assert (stack["net"]["residual"], stack["net"]["heard"], address(page)) == (True, 1, before)
    page = touched(page, 2, depth=3)
    (stack,) = panels(page, "stack").values()
    assert (stack["net"]["depth"], stack["refused"]) == (3, "")


@pytest.mark.parametrize(
    ("hide", "pictures", "hint"),
    [
        ("residual", {"residual", "own"}, "Press a norm or a block; drag the right edge."),
        ("norm", {"norm"}, "Press a residual or a block; drag the right edge."),
        ("depth", {"most"}, "Press a residual, a norm or a block."),
        ("overrides", {"out", "own"}, "Press a residual or a norm; drag the right edge."),
        ("residual,norm,overrides", {"residual", "norm", "out", "own"}, "Drag the right edge."),
        ("residual,norm,depth,overrides", None, ""),
    ],
)
def test_what_a_link_hides_stays_a_picture(hide, pictures, hint):
    page = playground(**SMALL, hide=hide)
    (stack,) = panels(page, "stack").values()
    if pictures is None:
        assert stack["net"] is None
        return
    assert {part for part, value in stack["net"].items() if value is None} == pictures
    assert stack["hint"] == hint
    forged = {"depth": 2, "residual": False, "norm": False, "out": [1], "own": [[2, False]]}
    shown = configuration(touched(page, **forged))
    fields = {"residual", "norm", "depth", "overrides"} - set(hide.split(","))
    cfg = RunConfig.from_query(SMALL)[0]
    assert {name for name in vars(cfg) if getattr(shown, name) != getattr(cfg, name)} == fields
    if hide == "residual":
        assert {key for _, key, _ in shown.overrides} == {"identity"}


def test_a_preset_sets_the_whole_network_and_says_where_to_look_until_something_is_moved():
    page = playground(**SMALL, seed="5")
    page.menu_button(key="preset").click("explodes")
    sound(page.run())
    assert address(page) == {"norm": "none"}
    assert panels(page, "headline")["Verdict"]["hint"] == preset_hint(PRESETS["explodes"])
    move(page, "depth", 4)
    assert panels(page, "headline")["Verdict"]["hint"] == ""
    with pytest.raises(KeyError):
        playground(**SMALL, hide="norm").get_by_key("preset")


def test_the_gain_that_keeps_the_mean_square_is_set_by_a_press() -> None:
    page = unfolded(playground(**SMALL))
    assert page.button(key="keep_gain").label == "Keep the signal level: 1.189"
    page.button(key="keep_gain").click()
    assert configuration(sound(page.run())).init_gain == 1.189


def test_what_a_browser_trains_gets_no_verdict() -> None:
    page = rests(playground(**SMALL), 5)
    assert following(page)
    at = {"step": 5, "playing": False, "here": True, "runs": [run["link"] for run in declared(page)["runs"]]}
    for forged in ("true", 1, [True]):
        says(page, {"at": at | {"here": forged}})
        assert declared(page)["at"] == [5, False]
    says(page, {"at": at})
    assert declared(page)["at"] == [5, False, True]
    assert following(page) == ""
    page.session_state["take_home"] = True
    sound(page.run())
    assert [one.label for one in page.get("download_button")] == [
        "Configuration (JSON)", "Script (PyTorch)", "HTML file that trains"
    ]  # fmt: skip
