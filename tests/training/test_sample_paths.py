"""Ten samples on their way through a net: against numbers by hand, by scipy and by the log."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes, svd

from models.insight.path_outcome import (
    APART,
    FLY,
    MERGE,
    VANISH,
    drawn_angles,
    path_details,
    path_outcome,
    unseparated,
)
from models.spec import RunConfig
from models.tasks import open_task
from models.tasks.base import class_round_robin
from models.training import Run, profile_at_init
from models.training.sample_paths import PathSampler, path_measures

SOURCE = np.random.default_rng(5)
WAY = SOURCE.normal(size=(4, 10, 32))


def test_vectors_of_one_direction_lie_on_one_ray_and_orthogonal_ones_spread():
    same = np.outer(np.linspace(0.5, 2, 10), SOURCE.normal(size=32))[None]
    at = path_measures(same)["ten_at"][0]
    np.testing.assert_allclose(at, np.broadcast_to(at[0], (10, 2)), atol=1e-6)
    assert np.hypot(*at[0]) == pytest.approx(1)
    assert path_measures(same)["ten_cosine"] == pytest.approx([1.0])
    spread = path_measures(np.eye(10, 32)[None])
    assert spread["ten_plane"] == pytest.approx([0.2])
    assert spread["ten_cosine"] == pytest.approx([0.0])
    pair = np.zeros((1, 10, 2))
    pair[0, :5, 0], pair[0, 5:, 1] = 1, 1
    found = path_measures(pair)["ten_at"][0]
    assert found[0] @ found[9] == pytest.approx(0, abs=1e-9), "what is orthogonal in the net is so in the picture"
    assert path_measures(pair)["ten_plane"] == pytest.approx([1.0])


def test_sizes_cosines_and_the_plane_are_those_of_an_independent_computation():
    found = path_measures(WAY)
    np.testing.assert_allclose(found["ten_size"], np.sqrt(np.mean(WAY**2, axis=-1)))
    circle = np.array([(np.cos(turn), np.sin(turn)) for turn in 2 * np.pi * np.arange(10) / 10])
    for site, vectors in enumerate(WAY):
        unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
        left, values, _ = svd(unit)  # singular vectors of the directions: eigenvectors of their cosines
        plane = left[:, :2] * values[:2]
        turned = plane @ orthogonal_procrustes(plane, circle)[0]
        np.testing.assert_allclose(found["ten_at"][site], turned, atol=1e-8)
        circle = turned
        assert found["ten_plane"][site] == pytest.approx(np.sum(values[:2] ** 2) / 10)
        others = ~np.eye(10, dtype=bool)
        assert found["ten_cosine"][site] == pytest.approx(np.mean((unit @ unit.T)[others]))


def test_a_rotation_of_the_nets_basis_changes_nothing_and_zeros_and_infinities_have_no_direction():
    rotation = np.linalg.qr(SOURCE.normal(size=(32, 32)))[0]
    for name, value in path_measures(WAY @ rotation).items():
        np.testing.assert_allclose(value, path_measures(WAY)[name], atol=1e-8)
    lost = np.ones((1, 10, 4))
    lost[0, 0], lost[0, 1] = 0, np.inf
    found = path_measures(lost)
    assert found["ten_size"][0, 0] == 0
    assert np.isnan(found["ten_size"][0, 1])
    assert not found["ten_at"][0, :2].any()
    assert found["ten_plane"] == found["ten_cosine"] == pytest.approx([1.0])
    assert path_measures(1e300 * WAY)["ten_cosine"] == pytest.approx(path_measures(WAY)["ten_cosine"])
    assert np.isnan(path_measures(np.zeros((1, 10, 4)))["ten_cosine"][0])


@pytest.mark.parametrize(
    ("fields", "size", "cosine", "expected"),
    [
        ({}, (2, 5), (0.3, 0.6), APART),
        ({"residual": False}, (0.5, 0.9), (0.93, 1), MERGE),
        ({"norm": "none"}, (200, 900), (0.6, 1), FLY),
        ({"residual": False, "norm": "none"}, (1e-6, 1e-4), (0.9, 1), VANISH),
    ],
)
def test_the_default_net_and_what_it_lacks_have_four_outcomes(fields, size, cosine, expected):
    picture = profile_at_init(RunConfig(**fields)).frames[0].picture
    sizes = np.sqrt(np.mean(picture["ten_size"] ** 2, axis=1))
    assert size[0] < sizes[-1] / sizes[0] < size[1]
    assert cosine[0] < picture["ten_cosine"][-1] <= cosine[1]
    assert path_outcome(picture) == expected


@pytest.mark.parametrize("fields", [{}, {"residual": False}, {"norm": "none"}, {"depth": 12, "placement": "post-norm"}])
def test_the_picture_is_as_similar_as_its_word(fields):
    picture = profile_at_init(RunConfig(**fields)).frames[0].picture
    angles = drawn_angles(picture)
    for stop, cosine in enumerate(picture["ten_cosine"]):
        apart = np.cos(angles[stop][:, None] - angles[stop])[~np.eye(10, dtype=bool)].mean()
        assert apart == pytest.approx(cosine, abs=0.02 if cosine > 0.2 else 0.1)


def test_what_lies_outside_the_plane_is_not_spread():
    vectors = np.zeros((1, 10, 12))
    vectors[0, :2] = np.eye(2, 12)
    vectors[0, 0, 0] = 3.0
    assert np.isfinite(drawn_angles(path_measures(vectors))).all()
    vectors[0, 1] = np.inf
    assert np.isfinite(drawn_angles(path_measures(vectors))).all()


@pytest.mark.parametrize(
    ("size", "cosine", "words"),
    [
        (1.0, 0.694, "stay distinct, , mean cosine 0.69"),
        (1.0, 0.6951, "stay distinct, but similar, , mean cosine 0.70"),
        (16.0, 0.954, "stay distinct, but similar, , mean cosine 0.95"),
        (0.1, 0.956, "merge, , mean cosine 0.96"),
        (1.0, -0.001, "stay distinct, , mean cosine 0.00"),
        (16.1, 0.956, "fly out, in nearly the same direction, mean cosine 0.96"),
        (16.1, 0.92, "fly out, similar, but still distinct, mean cosine 0.92"),
        (16.1, 0.2, "fly out, in different directions, mean cosine 0.20"),
        (0.0999, 0.2, "vanish, , "),
        (np.inf, np.nan, "fly out, , "),
    ],
)
def test_size_and_direction_have_a_rule_each(size, cosine, words):
    picture = {"ten_size": np.array([[1.0] * 10, [size] * 10]), "ten_cosine": np.array([0.0, cosine])}
    assert ", ".join([path_outcome(picture), *path_details(picture)]).replace("\u00a0", " ") == words
    assert unseparated(picture) == [False, size < 0.1 or cosine > 0.955]


@pytest.mark.parametrize(
    "fields", [{}, {"norm": "batch norm"}, {"net": "transformer"}, {"net": "transformer", "task": "book"}]
)
def test_taking_ten_samples_changes_no_number(fields):
    cfg = RunConfig(depth=3, width=16, batch=16, steps=8, **fields)
    watched, alone = Run(cfg), Run(cfg, frames=False)
    for run in (watched, alone):
        run.advance(9)
    np.testing.assert_array_equal(watched.rows(), alone.rows())
    task = open_task(cfg, "cpu")
    ten = PathSampler(cfg, task)
    first = watched.trace().frames[0].picture
    assert first["ten_blocks"] == [0, 1, 2, 3]
    assert first["ten_names"] == ten.names
    assert len(set(ten.names)) == 10


def test_samples_are_taken_class_by_class():
    assert class_round_robin(np.array([1, 1, 0, 2, 0, 1]), 5).tolist() == [2, 0, 3, 4, 1]
    assert class_round_robin(np.array([4, 4]), 5).tolist() == [0, 1]
