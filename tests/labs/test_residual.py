"""The residual lab: the worked examples with their right numbers,
other skips against the app's own modules, the trained nets.
"""

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor, nn

from components.labs import several
from components.labs.residual.memory import memory_chart, sizes_sentence, stream_cosines
from components.labs.residual.token import end_sentence, walk_map
from components.labs.residual.trained import (
    MLP,
    NETS,
    SUBLAYER_TITLES,
    TASKS,
    TRANSFORMER_TASKS,
    branch_shares,
    configuration,
    share_chart,
    share_sentence,
    sublayer_chart,
    sublayer_sentence,
)
from components.labs.residual.variants import effective_weight, variants
from components.player.view import View
from components.server.tickets import Playhead
from models.labs.residual import (
    EPS,
    WALKABLE_PLACEMENTS,
    WORKED_EXAMPLES,
    average_weights,
    contribution_factors,
    cosine,
    dlcl_stream,
    layer_norm,
    recursive_skip,
    run_sublayers,
    scaled_skip,
    turned,
)
from models.nets.norms import build_norm
from models.nets.stacks import DLCLStack
from models.nets.sublayer import RecursiveSublayer, Sublayer, build_skip
from models.service.client import trainer
from models.spec import TASKS as ALL_TASKS
from models.spec import RunConfig
from models.spec.placement import PLACEMENTS
from models.training import Run
from tests.app_page import sound, words
from tests.drawn import all_drawn, drawn
from tests.drawn import run as in_the_browser
from tests.labs_page import lab
from tests.player_page import declared, rests, runs
from tests.tables import table_of

X, ATTENTION, FEED_FORWARD = np.array([1.0, 2, -1]), np.array([0.5, 1.5, -0.5]), np.array([0.25, 0.80, -1.0])
CHAINED = "Attention, then feed-forward, post-norm"
SOURCE = np.random.default_rng(4)
TOKEN, BRANCHES = SOURCE.normal(size=5), SOURCE.normal(size=(3, 5))


def close(found, expected, digits=3):
    np.testing.assert_allclose(found, expected, atol=0.51 * 10**-digits)


def steps_of(name: str):
    example = WORKED_EXAMPLES[name]
    return run_sublayers(np.array(example.token), np.array(example.branches), example.placement)


# --- the worked examples ---


def test_add_and_norm_after_attention():
    (step,) = steps_of("After attention, post-norm")
    close(step.sum, [1.5, 3.5, -1.5], 9)
    close([step.norm_add.mean, step.norm_add.variance], [1.1667, 4.2222], 4)
    close(step.after, [0.162, 1.136, -1.298])


def test_from_the_printed_token_and_chained_from_the_right_one():
    (step,) = steps_of("After the feed-forward network, post-norm")
    close(step.sum, [0.40, 1.86, -2.19], 9)
    close([step.norm_add.mean, step.norm_add.variance], [0.0233, 2.8047], 4)
    close(step.after, [0.225, 1.097, -1.322])
    first, second = steps_of(CHAINED)
    close(first.after, [0.162, 1.136, -1.298])
    close(second.after, [0.226, 1.096, -1.322])


def test_the_sum_keeps_the_token_and_f_0_is_the_identity():
    (step,) = steps_of("No norm")
    close(step.after, [2.3, 3.2, -0.6], 9)
    (nothing,) = run_sublayers(step.before, [np.zeros(3)], "none")
    np.testing.assert_array_equal(nothing.after, step.before)
    (lost,) = run_sublayers(step.before, [np.zeros(3)], "none", skip=0.0)
    np.testing.assert_array_equal(lost.after, 0)


# --- the walk against the app's sublayer ---


class Says(nn.Module):
    """A branch that gives out the same vector whatever it reads, and remembers what it read."""

    def __init__(self, output: np.ndarray) -> None:
        super().__init__()
        self.output = torch.tensor(output)
        self.heard = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        self.heard = x
        return self.output.expand_as(x)


def norm_of(filled: bool) -> nn.Module:
    return build_norm("layer norm" if filled else "none", TOKEN.size, EPS).double()


def as_tensor(x: np.ndarray) -> Tensor:
    return torch.tensor(x)[None, None]


@pytest.mark.parametrize("skip", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("placement", WALKABLE_PLACEMENTS)
def test_every_placement_walks_as_the_apps_sublayers_do(placement, skip):
    slots = PLACEMENTS[placement]
    x = as_tensor(TOKEN)
    for output, step in zip(BRANCHES, run_sublayers(TOKEN, BRANCHES, placement, skip=skip), strict=True):
        branch = Says(output)
        sublayer = Sublayer(
            branch,
            skip=build_skip(skip),
            norm_in=norm_of(slots.norm_in),
            norm_out=norm_of(slots.norm_out),
            norm_add=norm_of(slots.norm_add),
        )
        x = sublayer(x)
        np.testing.assert_allclose(step.after, x[0, 0].detach().numpy(), atol=1e-12)
        np.testing.assert_allclose(step.branch_input, branch.heard[0, 0].detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("skip", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("placement", WALKABLE_PLACEMENTS)
def test_the_end_of_the_stream_is_the_sum_of_what_is_left_of_every_write(placement, skip):
    steps = run_sublayers(TOKEN, BRANCHES, placement, skip=skip)
    factors = contribution_factors(steps, skip=skip)
    pieces = [TOKEN, *(step.branch_output for step in steps)]
    if PLACEMENTS[placement].norm_add:
        pieces = [piece - piece.mean() for piece in pieces]
    np.testing.assert_allclose(sum(f * p for f, p in zip(factors, pieces, strict=True)), steps[-1].after, atol=1e-12)


@pytest.mark.parametrize("skip", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("placement", [one for one in WALKABLE_PLACEMENTS if not PLACEMENTS[one].norm_add])
def test_a_relu_after_the_add_is_walked_as_torch_does_and_cuts_the_skips_gradient_where_the_sum_is_negative(
    placement, skip
):
    """By torch: relu(skip x + F) sublayer by sublayer, and the gradient of its end's sum with respect to the token."""
    x = start = torch.tensor(TOKEN, requires_grad=True)
    for output in BRANCHES:
        written = torch.tensor(output)
        if PLACEMENTS[placement].norm_out:
            written = (written - written.mean()) / (written.var(correction=0) + EPS).sqrt()
        x = torch.relu(skip * x + written)
    steps = run_sublayers(TOKEN, BRANCHES, placement, skip=skip, relu=True)
    np.testing.assert_allclose(steps[-1].after, x.detach().numpy(), atol=1e-12)
    (gradient,) = torch.autograd.grad(x.sum(), start)
    factors = contribution_factors(steps, skip=skip)
    np.testing.assert_allclose(factors[0], gradient.numpy(), atol=1e-12)
    pieces = [TOKEN, *(step.branch_output for step in steps)]
    np.testing.assert_allclose(sum(f * p for f, p in zip(factors, pieces, strict=True)), steps[-1].after, atol=1e-12)


def test_what_a_relu_after_the_add_leaves_of_a_token_is_counted_and_written_out():
    """By hand: [1, 2, -1] + [-3, 0, 0.5] = [-2, 2, -0.5]; only the second feature of x goes on."""
    steps = run_sublayers(np.array([1.0, 2, -1]), [np.array([-3.0, 0, 0.5]), np.array([1.0, 1, 1])], "none", relu=True)
    np.testing.assert_allclose(steps[0].after, [0, 2, 0])
    np.testing.assert_allclose(steps[1].after, [1, 3, 1])
    np.testing.assert_array_equal(contribution_factors(steps), [[0, 1, 0], [0, 1, 0], [1, 1, 1]])
    assert "leaves 1 of 3 features of x a way to the end" in end_sentence(steps, 1.0)


def test_random_branches_forget_a_token_sooner_behind_a_relu_after_every_add():
    """By hand, at the end of 24 blocks: the cosine with x of relu(... relu(x + F1) ... + F24)."""
    source = np.random.default_rng(0)
    x = source.normal(size=48)
    x /= np.sqrt(np.mean(x**2))
    end = x
    for write in source.normal(size=(24, 48)):
        end = np.where(end + write > 0, end + write, 0)
    found = stream_cosines(48, 24, 1.0, 0)
    assert found["residual, ReLU after the add"][-1] == pytest.approx(end @ x / np.linalg.norm(end) / np.linalg.norm(x))
    assert len(found) == 4


def test_pre_norm_forgets_nothing_and_post_norm_fades_the_oldest_most():
    np.testing.assert_array_equal(contribution_factors(run_sublayers(TOKEN, BRANCHES, "pre-norm")), 1)
    fading = contribution_factors(run_sublayers(TOKEN, 3 * BRANCHES, "post-norm"))[:, 0]
    assert fading[0] == fading[1] < fading[2] < fading[3]


# --- other skips against the app's own modules ---


@pytest.mark.parametrize("weight", [0.5, 2.0, 3.7])
def test_a_scaled_skip_is_the_apps(weight):
    sublayer = Sublayer(Says(BRANCHES[0]), skip=build_skip(weight), norm_add=norm_of(True))
    expected = sublayer(as_tensor(TOKEN))[0, 0].detach().numpy()
    np.testing.assert_allclose(scaled_skip(TOKEN, BRANCHES[0], weight).values, expected, atol=1e-12)


def test_a_recursive_skip_is_the_apps():
    sublayer = RecursiveSublayer(Says(BRANCHES[0]), norm_again=norm_of(True), norm_add=norm_of(True))
    expected = sublayer(as_tensor(TOKEN))[0, 0].detach().numpy()
    np.testing.assert_allclose(recursive_skip(TOKEN, BRANCHES[0])[-1].values, expected, atol=1e-12)
    assert len(recursive_skip(TOKEN, BRANCHES[0], 4)) == 4


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_a_recursive_skip_is_a_scaled_skip_whose_weight_the_norm_finds(repeats):
    weight = effective_weight(TOKEN, BRANCHES[0], repeats)
    same = scaled_skip(TOKEN, BRANCHES[0], weight).values
    np.testing.assert_allclose(recursive_skip(TOKEN, BRANCHES[0], repeats)[-1].values, same, atol=1e-4)


@pytest.mark.parametrize("own", [None, [[1.0], [0.2, 0.8], [0.1, 0.3, 0.6], [0.4, 0.3, 0.2, 0.1]]])
def test_dlcl_reads_what_the_apps_stack_reads(own):
    weights = own or average_weights(len(BRANCHES))
    branches = [Says(output) for output in BRANCHES]
    blocks = {f"b{at:02d}": {"mlp": Sublayer(branch)} for at, branch in enumerate(branches, start=1)}
    stack = DLCLStack(blocks, lambda: norm_of(True)).double()
    if own:
        for parameter, row in zip(stack.weights, weights, strict=True):
            parameter.data = torch.tensor(row, dtype=torch.float64)
    head = stack(as_tensor(TOKEN))
    reads, outputs = dlcl_stream(TOKEN, BRANCHES, weights)
    for branch, read, output, said in zip(branches, reads, outputs[1:], BRANCHES, strict=False):
        np.testing.assert_allclose(read, branch.heard[0, 0].detach().numpy(), atol=1e-7)
        np.testing.assert_allclose(output, read + said, atol=1e-12)
    np.testing.assert_allclose(reads[-1], head[0, 0].detach().numpy(), atol=1e-7)


def test_the_weights_that_dlcl_starts_with_are_the_apps():
    stack = DLCLStack({"b01": {}, "b02": {}}, nn.Identity)
    for weights, row in zip(stack.weights, average_weights(2), strict=True):
        assert weights.tolist() == pytest.approx(row)


def test_a_heavier_skip_keeps_more_of_the_token():
    branches = np.array([[0.5, -1.5, 2.0]])
    results = {name: cosine(value, X - X.mean()) for name, (_, value) in variants(X, branches, 4.0, 2).items()}
    assert results["no residual"] < results["post-norm"] < results["recursive skip"] < results["scaled skip"]


@pytest.mark.parametrize("degrees", [0, 60, 90, 180])
def test_a_branch_turns_to_its_angle_and_keeps_its_length(degrees):
    for branch in (ATTENTION, FEED_FORWARD):
        found = turned(X, branch, degrees)
        assert np.corrcoef(X, found)[0, 1] == pytest.approx(np.cos(degrees * np.pi / 180), abs=1e-9)
        assert (found.mean(), found.std()) == pytest.approx((branch.mean(), branch.std()))
    assert turned(X, 0 * X, degrees) is None
    assert turned(X, 3 * X + 1, degrees) is None


def test_other_skips_open_where_they_differ(trainer_in_this_process):
    page = lab("residual")
    page.session_state["residual_part"] = "Other skips"
    (shown,) = [one.value for one in sound(page.run()).dataframe if "cosine with x" in one.value.columns]
    with_x = dict(zip(shown["residual"], map(float, shown["cosine with x"]), strict=True))
    branch = np.sqrt(3) * ATTENTION.std()  # at right angles: cos = a |x| / sqrt(a² |x|² + |F|²)
    for name, weight in (("no residual", 0), ("post-norm", 1), ("scaled skip", 2), ("DeepNorm's sum", 2**0.25)):
        along = weight * np.sqrt(3) * X.std()
        assert with_x[name] == pytest.approx(along / np.hypot(along, branch), abs=1e-3)
    assert max(with_x.values()) - min(with_x.values()) > 0.9


def test_a_cosine_with_nothing_is_no_number():
    assert np.isnan(cosine(np.zeros(3), X))
    assert cosine(X, -2 * X) == pytest.approx(-1)


def test_a_token_of_equal_features_is_normed_to_zeros():
    np.testing.assert_array_equal(layer_norm(np.full(4, 7.0)).values, 0)


# --- the memory ---


def test_the_mean_square_of_a_sum_is_three_terms_of_which_random_branches_leave_two():
    x, branch = np.array([1.5, 2.0, -0.5]), np.array([0.8, 1.2, -0.1])
    assert sizes_sentence(x, branch).startswith("Its mean square is 2.167 + 2.433 + 0.6967 = 5.297. ")
    assert ((x + branch) ** 2).mean() == pytest.approx(5.297, abs=5e-4)
    assert "mean squares add: 2.167 + 0.6967 = 2.863, which is 1.32 times the token's." in sizes_sentence(x, branch)
    assert (x**2).mean() + (branch**2).mean() == pytest.approx(1.3215 * (x**2).mean(), abs=5e-4)
    assert "mean squares add: 2.167 + 0 = 2.167, which is 1 times the token's." in sizes_sentence(x, 0 * branch)
    source = np.random.default_rng(0)
    writes = source.normal(size=(4000, 3))
    cross = (2 * x * writes).mean(1)
    assert abs(cross.mean()) < 4 * cross.std() / 4000**0.5
    assert ((x + writes) ** 2).mean() == pytest.approx((x**2).mean() + (writes**2).mean(), rel=0.05)


def test_a_skip_remembers_as_a_sum_of_random_vectors_does():
    """|x| against the square root of 1 + blocks, and half of it lost at every norm of the sum."""
    many = [stream_cosines(4000, 24, 1.0, seed) for seed in range(3)]
    assert np.mean([one["residual"][-1] for one in many]) == pytest.approx(1 / 5, abs=0.03)
    assert np.mean([one["residual, post-norm"][8] for one in many]) == pytest.approx(2**-4, abs=0.02)
    assert abs(np.mean([one["no residual"][1:] for one in many])) < 0.02


# --- the trained nets ---


def view(task: str, *, row: int, net: str = next(iter(NETS)), **fields) -> View:
    cfg = configuration(net, task, 3)
    cfg = RunConfig(**{**{name: getattr(cfg, name) for name in cfg.__dataclass_fields__}, **fields})
    run = Run(cfg, frames=False)
    run.advance(row + 1)
    return View(cfg, run.trace(), row)


def test_all_nets_and_tasks_are_legal_and_differ_in_their_task_alone():
    for net in NETS:
        cfgs = [configuration(net, task, 24) for task in TASKS]
        assert {cfg.task for cfg in cfgs} == set(TASKS) <= set(ALL_TASKS)
        assert len({(c.depth, c.width, c.placement, c.init, c.lr, c.optimizer, c.steps) for c in cfgs}) == 1
        assert len({cfg.batch * cfg.tokens for cfg in cfgs if cfg.task != "copy"}) == 1


def test_a_branch_share_is_what_the_instrument_measures():
    from exhibits.instruments.stream.measure import stream
    from models.training import snapshot_of

    seen = view("spiral", row=5)
    run = Run(seen.cfg, frames=False)
    run.advance(5)
    np.testing.assert_allclose(branch_shares(seen), stream(snapshot_of(run)).share, rtol=1e-4)


def test_the_chart_divides_what_a_share_is_made_of_block_by_block():
    seen = view("spiral", row=5)
    figure = share_chart(seen.cfg)
    assert figure["layout"]["bind"]["places"]["names"] == ["block 1", "block 2", "block 3"]
    for run, (trace, name) in enumerate(zip(figure["data"], TASKS.values(), strict=True)):
        bind = trace["bind"]
        assert (trace["name"], bind["run"]) == (name, run)
        found = getattr(seen.trace, bind["track"])[5] / getattr(seen.trace, bind["over"])[5, :3]
        np.testing.assert_array_equal(found, branch_shares(seen))


DIVIDED = """
const one = new runlog.RunLog({ link: "", seeds: 1, last: 1 })
const { branch_rms, act_rms } = vectors
const tracks = [["loss", 0, 1], ["branch_rms", 1, branch_rms.length], ["act_rms", 1 + branch_rms.length, act_rms.length]]
const width = 1 + branch_rms.length + act_rms.length
one.setHeader({ last: 1, seeds: 1, width, tracks: tracks.map(([name, start, width]) => ({ name, start, width })) })
one.setRows(0, Float32Array.from([1, ...branch_rms, ...act_rms]))
const now = { ...STILL, logs: [one], shown: 0, position: 0, furthest: 0 }
return bind.fillFigure(figure, now, {}).data[0].y
"""


def test_shares_of_attention_and_feed_forward_are_drawn_apart_as_the_browser_divides_them():
    cfg = configuration(next(iter(NETS)), "copy", 2, "transformer")
    run = Run(cfg, frames=False)
    run.advance(6)
    shown = View(cfg, run.trace(), 5)
    for at, kind in enumerate(SUBLAYER_TITLES):
        figure = sublayer_chart(cfg, kind)
        assert figure["layout"]["bind"]["places"]["labels"] == ["1", "2"]
        vectors = {name: getattr(shown.trace, name)[5].tolist() for name in ("branch_rms", "act_rms")}
        line = in_the_browser(DIVIDED, figure={**figure, "data": figure["data"][:1]}, vectors=vectors)
        np.testing.assert_allclose(line, branch_shares(shown)[at::2], rtol=1e-3)


@pytest.mark.full
def test_attention_that_no_token_needs_adds_less_than_where_one_does_and_not_nothing():
    found = {}
    for task in TRANSFORMER_TASKS:
        run = Run(configuration(next(iter(NETS)), task, 4, "transformer"), frames=False)
        run.advance(300)
        trace = run.trace()
        found[task] = branch_shares(View(run.cfg, trace, 299))
        assert task == "book" or trace.loss[-1] < 0.1
    assert 0.05 < np.linalg.norm(found["successor"][::2]) / np.linalg.norm(found["copy"][::2]) < 0.6
    assert "attention that no token needs adds" in sublayer_sentence(found, 300, True)


@pytest.mark.parametrize(
    ("attention", "residual", "expected"),
    [
        ((0.1, 1.0), True, "adds little, 10% of its share"),
        ((0.6, 1.0), True, "adds less, 60%"),
        ((0.9, 1.0), True, "adds as much"),
        ((0.0, 0.0), True, "every block is the identity"),
        ((0.1, 1.0), False, "no layer can step aside"),
        ((np.nan, 1.0), True, "not all of them are finite"),
    ],
)
def test_the_sentence_on_attention_says_what_the_shares_are(attention, residual, expected):
    pairs = {"successor": attention[0], "copy": attention[1], "book": 0.5}
    found = {task: np.tile([size, 0.3], 3) for task, size in pairs.items()}
    assert expected in sublayer_sentence(found, 10, residual)


def test_branches_that_start_off_share_nothing_before_training_and_something_after():
    assert not branch_shares(view("linear", row=0)).any()
    assert (branch_shares(view("linear", row=30)) > 0).all()


LONG = 150


@pytest.fixture(scope="module")
def trained_shares():
    return {
        net: {task: branch_shares(view(task, row=LONG - 1, net=net, depth=8, steps=LONG)) for task in TASKS}
        for net in list(NETS)[:2]
    }


@pytest.mark.full
def test_layers_that_start_off_say_less_on_a_line_and_on_random_sequences_than_on_a_spiral(trained_shares):
    first = trained_shares["pre-norm, branches off at first"]
    size = {task: np.sqrt(np.mean(values**2)) for task, values in first.items()}
    assert max(size["linear"], size["copy"]) < 0.9 * size["spiral"]
    assert "do less" in share_sentence(first, LONG, True) or "clearly less" in share_sentence(first, LONG, True)


@pytest.mark.full
def test_layers_that_start_at_random_stay_as_loud_because_nothing_asks_them_to_be_quiet(trained_shares):
    random = trained_shares["pre-norm, random branches at first"]
    before = branch_shares(view("linear", row=0, net="pre-norm, random branches at first", depth=8))
    assert np.abs(np.sqrt(np.mean(random["linear"] ** 2)) / np.sqrt(np.mean(before**2)) - 1) < 0.25
    assert "do about as much" in share_sentence(random, LONG, True)


@pytest.mark.parametrize(
    ("sizes", "residual", "expected"),
    [
        ((0.1, 0.1, 1.0), True, "the layers do almost nothing"),
        ((0.7, 0.5, 1.0), True, "at most 70% of the spiral's share"),
        ((0.9, 0.5, 1.0), True, "random sequences only"),
        ((1.1, 1.0, 1.0), True, "do about as much"),
        ((0.1, 0.1, 1.0), False, "no layer can step aside"),
        ((0.0, 0.0, 0.0), True, "every block is the identity"),
        ((np.inf, 0.1, 0.1), True, "not all of them are finite"),
    ],
)
def test_the_sentence_says_what_the_shares_are(sizes, residual, expected):
    found = {task: np.full(4, size) for task, size in zip(("linear", "copy", "spiral"), sizes, strict=True)}
    assert expected in share_sentence(found, 10, residual)


def test_plotly_json_and_the_table_accept_every_chart():
    for figure in all_drawn([memory_chart(stream_cosines(8, 24, size, 0)) for size in (0.0, 1.0)]):
        table_of(figure)


# --- the page ---


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return lab("residual")


def test_the_picture_shows_the_token_after_every_operation_as_torch_computes_it():
    x, f, g = (torch.tensor(row, dtype=torch.float64) for row in ((1.0, 2, -1), (0.5, 1.5, -0.5), (0.25, 0.8, -1)))
    once = torch.nn.functional.layer_norm(x + f, (3,))
    twice = torch.nn.functional.layer_norm(once + g, (3,))
    expected = {"x": x, "F 1": f, "sum 1": x + f, "norm 1": once, "F 2": g, "sum 2": once + g, "norm 2": twice}
    figure = walk_map(run_sublayers(x.numpy(), np.array([f.numpy(), g.numpy()]), "post-norm"), x.numpy())
    (trace,) = drawn(figure)["data"]
    assert trace["x"] == list(expected)
    seen = np.array(figure["data"][0]["bind"]["values"], float)
    np.testing.assert_allclose(seen.T, np.array([one.tolist() for one in expected.values()]), rtol=1e-3)
    read = walk_map(run_sublayers(x.numpy(), f.numpy()[None], "pre-norm"), x.numpy())["data"][0]
    normed = torch.nn.functional.layer_norm(x, (3,)).tolist()
    assert read["x"] == ["x", "N(x) 1", "F 1", "sum 1"]
    np.testing.assert_allclose([row[1] for row in read["bind"]["values"]], normed, rtol=1e-3)


@pytest.mark.parametrize("name", WORKED_EXAMPLES)
def test_every_example_shows_its_own_end(page, name):
    page.selectbox(key="residual_preset").select(name)
    sound(page.run())
    end = "[" + ", ".join(f"{v + 0.0:.4g}" for v in steps_of(name)[-1].after.round(3)) + "]"
    assert end in words(page)
    assert ("A widely copied worked example" in words(page)) == (WORKED_EXAMPLES[name].printed_variance is not None)


def test_a_table_of_ones_own_is_walked_and_a_bad_one_leaves_the_last_good(page):
    page.text_area(key="residual_token_paste").set_value("1 2\n3 5\n0 0\n1 1")
    page.button(key="residual_token_use").click()
    sound(page.run())
    assert "**Sublayer 3**" in words(page)
    for bad in ("1 nan\n2 3", "x", "", "1 2 3\n4 5", "1 2\n" * 5000):
        page.text_area(key="residual_token_paste").set_value(bad)
        page.button(key="residual_token_use").click()
        sound(page.run())
        assert page.error, bad
        assert "**Sublayer 3**" in words(page)


def test_at_size_0_the_block_is_the_identity(page):
    page.slider(key="residual_memory_size").set_value(0.0)
    sound(page.run())
    assert "**The block is the identity" in words(page)
    assert "nan" not in words(page)


@pytest.mark.full
def test_three_nets_are_trained_by_one_button_and_what_was_measured_is_said(page):
    page.slider(key="residual_trained_depth").set_value(2)
    sound(page.run())
    assert "every block is the identity" in words(page)
    assert [(cfg.task, cfg.depth) for cfg in runs(page)] == [(task, 2) for task in TASKS]
    assert declared(page)["scope"] == " all three"
    rests(page)
    assert f"At step {MLP['steps']} the branches add" in words(page)
    said, *_ = [table.value for table in page.dataframe if list(table.value)[:3] == ["task", "step", "loss"]]
    assert list(said["step"]) == [MLP["steps"]] * 3
    rests(page, 20)
    assert "At step 20 the branches add" in words(page)
    rests(page, 0)
    assert "At step 0 the branches add 0 of the stream" in words(page)


@pytest.mark.full
def test_a_net_that_has_ended_is_shown_at_its_end_and_all_others_at_the_step_of_the_slowest(page):
    short, *others = cfgs = [configuration(next(iter(NETS)), task, 4) for task in TASKS]
    while not trainer().request_rows(short, short.steps).done:
        pass
    for cfg, rows in zip(others, (31, 51), strict=True):
        while trainer().log(cfg).length < rows:
            trainer().request_rows(cfg, rows)
    found, waiting = several.views_at_step(cfgs, Playhead(200))
    assert waiting
    assert len({view.row for view in found}) == 1
    assert 30 <= found[0].row < 200
    found, waiting = several.views_at_step(cfgs, Playhead(25))
    assert not waiting
    assert [view.row for view in found] == [25] * 3
