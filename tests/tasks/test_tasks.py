"""What the tasks hand to a net, checked against the description in `models.spec.TASKS` and by independent numpy."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from components.controls.task_pictures import picture
from components.player.panels import TEXT_NOTE
from models.instruments.task_examples import task_examples
from models.spec import NETS, TASKS, RunConfig
from models.spec.cautions import config_caution
from models.tasks import DATASETS, TaskData, alphabet, open_task
from models.tasks.book import TEMPERATURE, held_out_start, text
from models.tasks.digits import images

POINTS = [name for name, task in TASKS.items() if task.kind == "points"]
SEQUENCES = [name for name, task in TASKS.items() if task.kind == "sequence"]
TOYS = POINTS + SEQUENCES
AGREE = 17.0  # a logit that settles the class

both_nets = pytest.mark.parametrize("net", NETS)
every_task = pytest.mark.parametrize("name", TASKS)


def task_of(name: str, net: str = "transformer", **fields: object) -> TaskData:
    return open_task(RunConfig(task=name, net=net, depth=4, **fields), "cpu")


def samples(data: TaskData, batches: int = 40) -> tuple[Tensor, Tensor]:
    drawn = [data.batch(k) for k in range(batches)]
    return torch.cat([x for x, _ in drawn]), torch.cat([y for _, y in drawn])


def answers(data: TaskData, spoilt: int = 0):
    """A net that knows the held-out answers, and gives the next class instead for the first `spoilt` samples."""
    held_x, held_y = data.held_out
    classes = TASKS[data.cfg.task].classes

    def predict(x: Tensor) -> Tensor:
        assert torch.equal(x, held_x[: len(x)])
        right = held_y[: len(x)].clamp(min=0)
        right[:spoilt] = (right[:spoilt] + 1) % classes
        return AGREE * one_hot(right, classes).float()

    return predict


def test_every_described_task_has_its_data():
    assert list(DATASETS) == list(TASKS)


@both_nets
@every_task
def test_batches_have_the_described_shapes_and_ranges(name, net):
    task = TASKS[name]
    data = task_of(name, net, batch=5)
    held_x, held_y = data.held_out
    assert len(held_x) <= 400
    for x, y in (data.batch(0), (held_x, held_y)):
        tokens = task.length(net)
        assert y.dtype == torch.int64
        assert y.shape == (len(x), tokens)
        if task.vocabulary:
            assert x.dtype == torch.int64
            assert x.shape == (len(x), tokens)
            assert set(x.unique().tolist()) <= set(range(task.vocabulary))
        else:
            assert x.dtype == torch.float32
            assert x.shape == (len(x), tokens, task.inputs(net))
        taken = y[y != -100]
        assert set(taken.tolist()) <= set(range(task.classes))
        assert (y != -100).any(dim=1).all()
    assert len(data.batch(0)[0]) == 5


@every_task
def test_a_batch_depends_on_its_seed_and_number_only(name):
    torch.manual_seed(1)
    expected = task_of(name, seed=3).batch(7)
    torch.manual_seed(2)
    data = task_of(name, seed=3)
    state = torch.get_rng_state()
    for k in (2, 0, 5):
        data.batch(k)
    assert all(torch.equal(a, b) for a, b in zip(expected, data.batch(7), strict=True))
    assert torch.equal(state, torch.get_rng_state())
    assert not torch.equal(expected[0], data.batch(8)[0])
    assert not torch.equal(expected[0], task_of(name, seed=4).batch(7)[0])


@pytest.mark.parametrize("name", ["digits", "book"])
def test_both_nets_see_the_same_batches(name):
    assert torch.equal(task_of(name, "mlp").batch(3)[0].flatten(), task_of(name, "transformer").batch(3)[0].flatten())


@every_task
def test_the_held_out_set_is_the_same_for_every_seed(name):
    expected, other = task_of(name, seed=0).held_out, task_of(name, seed=9).held_out
    assert all(torch.equal(a, b) for a, b in zip(expected, other, strict=True))


@pytest.mark.parametrize("name", ["digits", *TOYS])
def test_no_held_out_sample_is_ever_in_a_batch(name):
    data = task_of(name, batch=512)
    held_out = {sample.numpy().tobytes() for sample in data.held_out[0]}
    assert not held_out & {sample.numpy().tobytes() for sample in samples(data, 20)[0]}


def test_the_digits_files_last_rows_are_held_out_and_all_others_train():
    data = task_of("digits", "mlp", batch=512)
    drawn = {sample.numpy().tobytes() for sample in samples(data, 40)[0]}
    assert len(data.held_out[0]) == 359
    assert len(drawn) == 1438


def test_book_windows_lie_on_their_own_side_of_the_split():
    data = task_of("book", batch=512)
    codes = {character: i for i, character in enumerate(alphabet())}
    book = np.array([codes[character] for character in text()])
    training, last_tenth = book[: held_out_start()].tobytes(), book[held_out_start() :].tobytes()
    for side, (x, y) in ((training, samples(data, 4)), (last_tenth, data.held_out)):
        assert torch.equal(x[:, 1:], y[:, :-1])
        window = torch.cat((x, y[:, -1:]), dim=1).numpy()
        assert all(row.tobytes() in side for row in window)
    assert len(alphabet()) == TASKS["book"].classes
    assert held_out_start() / len(text()) == pytest.approx(0.9, abs=1e-5)


@both_nets
@pytest.mark.parametrize("name", ["digits", *POINTS])
def test_real_inputs_have_unit_mean_square(name, net):
    x, _ = samples(task_of(name, net, batch=512))
    assert x.square().mean().item() == pytest.approx(1.0, abs=0.02)


def test_the_mean_training_image_is_taken_off():
    x, _ = samples(task_of("digits", "mlp", batch=512), 100)
    assert x.mean(dim=0).abs().max() < 0.05


@pytest.mark.parametrize("name", ["digits", *TOYS])
def test_classes_are_balanced(name):
    _, y = samples(task_of(name, batch=512))
    count = torch.bincount(y[y != -100], minlength=TASKS[name].classes).float()
    assert len(count) == TASKS[name].classes
    assert count.min() / count.max() > 0.9


@pytest.mark.parametrize("name", ["digits", *POINTS])
def test_chance_is_one_in_as_many_as_there_are_classes_on_the_held_out_set_too(name):
    _, y = task_of(name).held_out
    count = torch.bincount(y[y != -100]).float()
    assert count.max() / count.sum() < 1.1 / TASKS[name].classes


def test_digits_are_real_because_the_nearest_training_image_names_them():
    pixels, labels = (part.astype(np.int64) for part in images())
    train, held_out = pixels[:1438], pixels[1438:]
    distance = ((held_out[:, None] - train) ** 2).sum(axis=2)
    assert (labels[distance.argmin(axis=1)] == labels[1438:]).mean() > 0.9
    x, y = task_of("digits", "mlp").held_out
    assert np.corrcoef(x[0, 0].numpy(), held_out[0])[0, 1] > 0.5
    assert np.array_equal(y[:, 0].numpy(), labels[1438:])


def test_a_transformer_reads_a_digit_row_by_row_and_answers_at_the_last():
    x, y = task_of("digits", "transformer").held_out
    rows, label = task_of("digits", "mlp").held_out
    assert torch.equal(x, rows.reshape(-1, 8, 8))
    assert torch.equal(y[:, -1:], label)
    assert (y[:, :-1] == -100).all()


@pytest.mark.parametrize(
    ("name", "rule"), [("copy", lambda s: s), ("reverse", lambda s: s[:, ::-1]), ("sort", lambda s: np.sort(s, axis=1))]
)
def test_an_answer_follows_its_question(name, rule):
    x, y = (part.numpy() for part in task_of(name).batch(0))
    assert np.array_equal(x[:, 16:], rule(x[:, :16]))
    assert np.array_equal(y[:, 15:31], x[:, 16:])
    assert (y[:, :15] == -100).all()
    assert (y[:, 31] == -100).all()


def test_a_successor_depends_on_its_own_symbol_alone():
    x, y = (part.numpy() for part in task_of("successor").batch(0))
    following = dict(zip(range(16), [*range(1, 16), 0], strict=True))
    assert [[following[symbol] for symbol in row] for row in x.tolist()] == y.tolist()
    assert abs(np.corrcoef(x[:, :16].ravel(), x[:, 16:].ravel())[0, 1]) < 0.2


def test_recall_asks_for_the_value_that_stood_beside_the_key():
    x, y = (part.numpy() for part in task_of("recall").batch(0))
    for row, target in zip(x, y, strict=True):
        keys, values, asked = row[:16:2], row[1:16:2], row[16::2]
        value_of = dict(zip(keys, values, strict=True))
        assert len(value_of) == 8
        assert keys.max() < 16 <= values.min()
        assert sorted(asked) == sorted(keys)
        assert [value_of[key] for key in asked] == list(row[17::2]) == list(target[16::2] + 16)
        assert (np.delete(target, np.arange(16, 32, 2)) == -100).all()
    assert any(not np.array_equal(row[:16:2], row[16::2]) for row in x)


@pytest.mark.parametrize("name", POINTS)
def test_points_can_be_told_apart_by_their_nearest_neighbours(name):
    data = task_of(name, batch=512)
    train_x, train_y = samples(data, 4)
    x, y = data.held_out
    nearest = torch.cdist(x[:, 0], train_x[:, 0]).argmin(dim=1)
    assert (train_y[nearest] == y).float().mean() > 0.95


def test_xor_asks_whether_the_signs_agree():
    x, y = task_of("xor").held_out
    assert ((x[:, 0, 0] * x[:, 0, 1] > 0) == (y[:, 0] == 1)).float().mean() > 0.93


def test_one_straight_line_settles_linear_and_none_settles_xor():
    """Least squares on the training points, asked about the held-out ones."""
    found = {}
    for name in ("linear", "xor"):
        data = task_of(name, batch=512)
        train_x, train_y = samples(data, 4)
        x, y = data.held_out
        line = torch.linalg.lstsq(one_more(train_x[:, 0]), 2.0 * train_y - 1).solution
        found[name] = (((one_more(x[:, 0]) @ line > 0) == (y == 1)).float().mean()).item()
    assert found["linear"] > 0.99
    assert found["xor"] < 0.65


def one_more(x: Tensor) -> Tensor:
    """Points with a 1 beside them, for the constant of a line."""
    return torch.cat((x, torch.ones(len(x), 1)), dim=1)


def test_the_plane_is_coloured_where_the_net_says_so():
    picture = task_of("xor").picture(lambda x: torch.stack((-x[..., 1], x[..., 1]), dim=-1))
    assert picture["grid"].shape == picture["confidence"].shape == (48, 48)
    assert (picture["grid"] == (picture["axis"] > 0)[:, None]).all()
    assert 0.5 <= picture["confidence"].min() <= picture["confidence"].max() <= 1
    low, high = picture["extent"]
    assert picture["axis"][[0, -1]] == pytest.approx([low, high])


@pytest.mark.parametrize("name", POINTS)
def test_the_points_shown_are_held_out_points_in_the_units_of_the_plane(name):
    data = task_of(name)
    seen = []
    picture = data.picture(lambda x: seen.append(x) or torch.zeros(*x.shape[:2], TASKS[name].classes))
    scale = seen[0].max().item() / picture["extent"][1]
    assert picture["points"] * scale == pytest.approx(data.held_out[0][:, 0].numpy(), abs=1e-5)
    assert picture["labels"].tolist() == data.held_out[1][:, 0].tolist()
    assert (abs(picture["points"]) < picture["extent"][1]).mean() > 0.99


def test_digit_mistakes_are_shown_the_most_confident_first():
    data = task_of("digits")
    assert len(data.picture(answers(data))["mistakes"]) == 0
    spoilt = answers(data, spoilt=20)
    confident = torch.linspace(0.5, 1.0, 359)[:, None, None]
    picture = data.picture(lambda x: spoilt(x) * confident)
    pixels, labels = images()
    shown = range(1438 + 19, 1438 + 11, -1)
    assert picture["mistakes"].tolist() == [pixels[i].reshape(8, 8).tolist() for i in shown]
    assert picture["truth"] == [labels[i] for i in shown]
    assert picture["guess"] == [(labels[i] + 1) % 10 for i in shown]
    assert picture["confidence"] == sorted(picture["confidence"], reverse=True)


@pytest.mark.parametrize("name", POINTS)
def test_before_training_a_coarser_plane_shows_the_answers(name):
    data = task_of(name, net="mlp")
    weights = torch.randn(2, TASKS[name].classes, generator=torch.Generator().manual_seed(0))
    whole, first = data.picture(lambda x: x @ weights), data.first_picture(lambda x: x @ weights)
    assert len(first["axis"]) < len(whole["axis"])
    plane = np.stack(np.meshgrid(first["axis"], first["axis"]), axis=-1) @ weights.numpy()
    assert np.array_equal(first["grid"], plane.argmax(-1))
    for key in ("kind", "extent", "points", "labels"):
        assert np.array_equal(first[key], whole[key])


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_net_that_knows_the_answers_is_shown_to_know_them(name):
    data = task_of(name)
    picture = data.picture(answers(data))
    x, y = data.held_out
    assert picture["input"].tolist() == x[:4].tolist()
    assert np.array_equal(picture["target"] == -1, (y[:4] == -100).numpy())
    assert np.array_equal(picture["guess"], picture["target"])
    spoilt = data.picture(answers(data, spoilt=1))
    assert not np.array_equal(spoilt["guess"][0], picture["target"][0])
    assert np.array_equal(spoilt["guess"] == -1, picture["target"] == -1)


def test_the_text_follows_the_net_and_its_window_grows_and_then_slides():
    data = task_of("book")
    cycle = AGREE * torch.eye(75).roll(1, dims=1)  # after class i comes class i + 1
    seen = []
    picture = data.picture(lambda x: seen.append(x[0]) or cycle[x])
    prompt, sample = picture["prompt"], picture["sample"]
    assert prompt == "Call me Ish"
    assert text().count(prompt) == 1
    assert len(sample) == len(seen) == 48
    everything = [alphabet().index(character) for character in prompt + sample]
    assert [window.tolist() for window in seen] == [everything[: 11 + i][-32:] for i in range(48)]
    assert everything[11:] == [(everything[10] + i) % 75 for i in range(1, 49)]
    np.testing.assert_allclose(picture["p"], 1, atol=1e-3)
    assert picture["candidates"][0] == sample[0]


def test_the_text_is_drawn_from_the_nets_probabilities_at_its_temperature():
    chance = torch.full((75,), 1e-6)
    chance[:8], chance[60] = 0.5 / 8, 0.5
    picture = task_of("book").picture(lambda x: chance.log().expand(*x.shape, 75))
    odd = alphabet()[60]
    assert set(picture["sample"]) <= {*alphabet()[:8], odd}
    # At temperature 1/2 a draw has their squares: 0.5² of 0.5² + 8 * (0.5/8)², of 48 draws 42.7 with a spread of 2.2.
    assert 36 <= picture["sample"].count(odd) < 48
    expected = [0.5 if character == odd else 0.5 / 8 for character in picture["sample"]]
    np.testing.assert_allclose(picture["p"], expected, rtol=1e-3)  # the net's own, not those of the draw
    assert picture["candidates"] == odd + alphabet()[:4]
    np.testing.assert_allclose(picture["candidate_p"], [0.5, *[0.5 / 8] * 4], rtol=1e-3)
    assert f"temperature {TEMPERATURE:g}" in TEXT_NOTE


def test_before_training_the_text_is_the_beginning_of_the_same_text():
    data = task_of("book")
    fixed = torch.randn(75, 75, generator=torch.Generator().manual_seed(0))
    whole, first = data.picture(lambda x: fixed[x]), data.first_picture(lambda x: fixed[x])
    assert len(first["sample"]) == 12
    assert whole["sample"].startswith(first["sample"])
    assert whole["candidates"] == first["candidates"]


def test_a_text_ends_where_the_nets_numbers_end():
    data, calls = task_of("book"), iter(range(48))
    picture = data.picture(lambda x: torch.full((*x.shape, 75), torch.nan if next(calls) >= 5 else 0.0))
    assert (len(picture["sample"]), len(picture["p"]), len(picture["candidates"])) == (5, 5, 5)
    lost = data.picture(lambda x: torch.full((*x.shape, 75), torch.inf))
    assert (lost["sample"], lost["candidates"], len(lost["p"]), len(lost["candidate_p"])) == ("", "", 0, 0)


@every_task
def test_a_picture_is_the_same_each_time_and_holds_no_tensors(name):
    fixed = torch.randn(64, TASKS[name].classes, generator=torch.Generator().manual_seed(0))

    def predict(x: Tensor) -> Tensor:
        return fixed[x % 64] if TASKS[name].vocabulary else x @ fixed[: x.shape[-1]]

    first, second = (task_of(name, seed=seed).picture(predict) for seed in (0, 1))
    assert first["kind"] == TASKS[name].kind
    assert first.keys() == second.keys()
    for key, value in first.items():
        assert isinstance(value, np.ndarray | str | list)
        assert np.array_equal(value, second[key])


@every_task
def test_a_net_that_says_not_a_number_still_has_a_picture(name):
    assert task_of(name).picture(lambda x: torch.full((*x.shape[:2], TASKS[name].classes), torch.nan))


def test_the_page_says_what_a_net_cannot_learn():
    assert config_caution(RunConfig()) is None
    assert (
        config_caution(RunConfig(task="copy")) == "An MLP works token by token: it cannot look back, so it cannot copy."
    )
    assert config_caution(RunConfig(task="copy", net="transformer", depth=4)) is None
    assert "one character alone" in config_caution(RunConfig(task="book"))


def test_the_page_says_when_a_net_sees_the_future():
    future = RunConfig(task="book", net="transformer", depth=4, mask="none")
    assert "Without a mask" in config_caution(future)
    assert config_caution(RunConfig(net="transformer", depth=4, mask="none")) is None
    leaky = {"task": "reverse", "net": "transformer", "depth": 4}
    assert "batch norm" in config_caution(RunConfig(**leaky, norm="batch norm"))
    assert "batch norm" in config_caution(RunConfig(**leaky, overrides=((2, "norm", "batch norm"),)))
    assert config_caution(RunConfig(**leaky, norm="batch norm", placement="none")) is None
    assert config_caution(RunConfig(task="digits", norm="batch norm")) is None


@every_task
def test_a_picture_shows_samples_of_its_task(name):
    drawn = ElementTree.fromstring(picture(name, task_examples()))
    paths = [path.get("d") for path in drawn.iterfind(".//{*}path")]
    x, y = task_of(name, "mlp").held_out
    match TASKS[name].kind:
        case "points":
            shown, classes = x[:45, 0].numpy(), y[:45, 0].numpy()
            for path, label in zip(paths, np.unique(classes), strict=True):
                places = np.array(re.findall(r"M(\d+),(\d+)", path), float)
                expected = shown[classes == label] / np.abs(shown).max() * [18, -18] + 20
                assert np.abs(places - expected).max() <= 0.5 + 1e-3
        case "image":
            held_out, labels = images()[0][-len(x) :], images()[1][-len(x) :]
            nine = np.stack([held_out[labels == digit][0] for digit in range(9)])
            assert sum(map(int, re.findall(r"h(\d+)", paths[0]))) == (nine >= 8).sum()
        case "text":
            letters = "".join(alphabet()[code] for code in x[0, :10])
            assert "".join(part.text for part in drawn.iterfind(".//{*}text")) == letters
        case "sequence":
            heights = [np.array(re.findall(r"v-(\d+)", path), float) - 1 for path in paths]
            symbols = [x[0, :16].numpy(), y[0, y[0] >= 0][:16].numpy()]
            unit = 32 / max(map(np.max, symbols))  # the tallest bar
            for bars, values in zip(heights, symbols, strict=True):
                assert bars == pytest.approx(values * unit, abs=0.51)
