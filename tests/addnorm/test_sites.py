"""The sites of models that other people wrote, as their source has them, and of the playground's own nets."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from addnorm import profile, watch
from addnorm.recording import read
from addnorm.sites import find_sites
from addnorm.trace import Graph, Tracer
from models.nets import build_model
from models.spec import ARRANGEMENTS, RunConfig
from models.spec.vocabulary import MANY_STREAMS
from models.tasks import open_task
from tests.addnorm.loops import rms
from tests.addnorm.other_peoples import CASES
from tests.addnorm.streams import Apart, OverDepth, ReadAndMixed, Streams, WrittenOut


def traced(model: nn.Module, *args: Tensor, **inputs: Tensor) -> Graph:
    model.train()
    with Tracer(model) as tracer:
        model(*args, **inputs)
    assert tracer.failure is None
    return tracer.graph


def names(model: nn.Module, *args: Tensor, **inputs: Tensor) -> list[str]:
    return [site.name for site in find_sites(traced(model, *args, **inputs), model)]


@pytest.mark.parametrize("name", CASES)
def test_the_sites_are_those_of_the_models_source(name: str) -> None:
    model, inputs = CASES[name].build()
    assert names(model, **inputs) == CASES[name].sites


@pytest.mark.parametrize("layer", [ReadAndMixed, WrittenOut, Apart])
def test_mixed_streams_are_one_site_after_every_layer(layer: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Streams(layer)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    seen: list[Tensor] = []
    model.layers[0].register_forward_pre_hook(lambda _layer, inputs: seen.append(inputs[0]))
    for part in model.layers:
        part.register_forward_hook(lambda _layer, _inputs, output: seen.append(output))
    with warnings.catch_warnings(), watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        warnings.simplefilter("error")
        for _ in range(2):
            optimizer.zero_grad()
            seen.clear()
            output = model(torch.randn(2, 5, 4))
            for tensor in seen:
                tensor.retain_grad()
            output.square().mean().backward()
            optimizer.step()
    assert [site.name for site in recorder.sites] == ["layers.0 (input)", "layers.0", "layers.1", "layers.2"]
    assert not recorder.sites.notes
    recording = read(recorder.path)
    assert list(recording.row("act_rms", 1)) == pytest.approx([rms(tensor) for tensor in seen], rel=1e-5)
    assert list(recording.row("grad_rms", 1)) == pytest.approx([rms(tensor.grad) for tensor in seen], rel=1e-5)


@pytest.mark.parametrize("size", [1, 2])
def test_depth_attention_has_no_sums_and_is_named(size: int, tmp_path: Path) -> None:
    model = OverDepth(size)
    assert names(model, torch.ones(2, 5, 4)) == []
    with watch(model, tmp_path / "run.jsonl") as recorder:
        with pytest.warns(UserWarning, match="attention over depth"):
            model(torch.randn(2, 5, 4))
        recorder.step()
    assert {f"layers.{at}" for at in range(4)} <= {site.name for site in recorder.sites}
    assert "attention over depth" in "".join(recorder.sites.notes)
    assert "attention over depth" in str(profile(model, torch.randn(2, 5, 4)))


# Two streams, sums over all blocks (DLCL, attention residuals) and a sublayer that adds twice
# have other points than the playground shows of them; nets without a skip have none.
OTHERS = ("plain", "plain + norm", "recursive skip")
MIXED = [name for name in ARRANGEMENTS if RunConfig.arranged(name).stack in MANY_STREAMS]
SINGLE = [name for name in ARRANGEMENTS if RunConfig.arranged(name).stack == "single" and name not in OTHERS]


@pytest.mark.parametrize("net", ["mlp", "transformer"])
@pytest.mark.parametrize("arrangement", SINGLE)
def test_the_sites_of_our_own_nets_are_the_points_of_their_stream(arrangement: str, net: str) -> None:
    task = "book" if net == "transformer" else "digits"
    cfg = RunConfig.arranged(arrangement, depth=2, width=8, batch=4, net=net, task=task, device="cpu")
    model = build_model(cfg)
    x, _ = open_task(cfg, torch.device("cpu")).batch(0)
    passed: list[Tensor] = []
    for tap in model.stream.stream_taps:
        tap.register_forward_hook(lambda _tap, _inputs, output: passed.append(output))
    seen: dict[int, Tensor] = {}
    sites = find_sites(traced(model, x), model)
    for at, site in enumerate(sites):
        site.place.module.register_forward_hook(lambda _module, _inputs, output, at=at: seen.update({at: output}))
    passed.clear()
    model(x)
    assert [site.place.side for site in sites] == ["output"] * len(passed)
    assert all(seen[at] is tensor for at, tensor in enumerate(passed))


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("net", ["mlp", "transformer"])
@pytest.mark.parametrize("arrangement", MIXED)
def test_our_mixed_streams_end_at_the_last_sublayer(arrangement: str, net: str, depth: int) -> None:
    task = "book" if net == "transformer" else "digits"
    cfg = RunConfig.arranged(arrangement, depth=depth, width=8, batch=4, net=net, task=task, device="cpu")
    model = build_model(cfg)
    x, _ = open_task(cfg, torch.device("cpu")).batch(0)
    seen: list[Tensor] = []
    sites = find_sites(traced(model, x), model)
    assert not sites.notes
    for module, tap in zip(model.stream.sublayers, model.stream.stream_taps[1:], strict=True):
        module.register_forward_hook(lambda _module, _inputs, output: seen.append(output.mean(-2)))
        tap.register_forward_hook(lambda _tap, _inputs, output: seen.append(output))
    model(x)
    assert [site.place.module for site in sites[1:]] == model.stream.sublayers
    assert [site.place.side for site in sites] == ["input", *["output"] * len(model.stream.sublayers)]
    for streams, heard in zip(seen[::2], seen[1::2], strict=True):
        torch.testing.assert_close(streams, heard)


@pytest.mark.parametrize("layer", [WrittenOut, Apart])
def test_sums_are_sites_where_their_sequel_reaches_no_module(layer: type[nn.Module]) -> None:
    torch.manual_seed(0)
    sites = find_sites(traced(model := Streams(layer, scale=0.9), torch.randn(2, 5, 4)), model)
    assert [site.name for site in sites] == ["layers.0 (input)", "layers.0", "layers.1", "layers.2"]
    assert not sites.notes


@pytest.mark.parametrize("arrangement", ["plain", "plain + norm"])
def test_a_net_without_skips_has_no_sites(arrangement: str) -> None:
    cfg = RunConfig.arranged(arrangement, depth=2, width=8, batch=4, device="cpu")
    assert names(build_model(cfg), open_task(cfg, torch.device("cpu")).batch(0)[0]) == []


class Block(nn.Module):
    def __init__(self, width: int = 8, *, in_place: bool = False) -> None:
        super().__init__()
        self.f, self.act, self.in_place = nn.Linear(width, width), nn.ReLU(inplace=in_place), in_place

    def forward(self, x: Tensor) -> Tensor:
        if self.in_place:
            y = self.act(self.f(x))
            y += x
            return y
        return x + self.act(self.f(x))


def test_additions_in_place_are_additions() -> None:
    assert names(nn.Sequential(nn.Linear(8, 8), Block(in_place=True), Block(in_place=True)), torch.ones(2, 8)) == [
        "0",
        "1",
        "2",
    ]


def test_a_projected_skip_is_a_skip_and_a_sum_of_projections_inside_a_branch_is_none() -> None:
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.c(self.b(x)) + self.a(x)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: Tensor) -> Tensor:
            return x + self.inner(x)

    assert names(nn.Sequential(nn.Linear(8, 8), Inner()), torch.ones(2, 8)) == ["0", "1"]
    assert names(nn.Sequential(nn.Linear(8, 8), Outer()), torch.ones(2, 8)) == ["0", "1"]


def test_rotary_positions_and_sums_of_embeddings_are_no_residuals() -> None:
    class Rotary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.w = nn.Embedding(9, 8), nn.Embedding(9, 8), nn.Linear(8, 8)

        def forward(self, ids: Tensor) -> Tensor:
            x = self.w(self.words(ids) + self.places(torch.arange(ids.shape[1])))
            return x * 0.5 + x.flip(-1) * 0.3

    assert names(Rotary(), torch.ones(2, 5, dtype=torch.long)) == []


def test_a_kernel_that_torch_does_not_see_is_bridged_by_its_module() -> None:
    class Opaque(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(weight)
            return x * weight

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return grad * ctx.saved_tensors[0], None

    class Kernel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        def forward(self, x: Tensor) -> Tensor:
            return Opaque.apply(x, self.weight)

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = Kernel()

        def forward(self, x: Tensor) -> Tensor:
            return x + self.kernel(x)

    assert names(nn.Sequential(nn.Linear(8, 8), Residual()), torch.ones(2, 8)) == ["0", "1"]


class Recurrent(nn.Module):
    """A residual LSTM stack of which the head reads a part; it keeps its last sum."""

    def __init__(self, part: Callable[[Tensor], Tensor], norm: nn.Module | None = None) -> None:
        super().__init__()
        self.stem, self.head, self.part, self.norm = nn.Linear(4, 8), nn.Linear(8, 3), part, norm
        self.layers = nn.ModuleList([nn.LSTM(8, 8, batch_first=True) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = x + layer(x)[0]
        self.last = x
        return self.head(self.part(x if self.norm is None else self.norm(x)))


class ClassToken(nn.Module):
    """An encoder that adds in its own forward and gives its first token away."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.layers = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = x + layer(x).relu()
        self.last = x
        return x[:, 0]


SLICED = {
    "the last step of an LSTM stack": lambda: Recurrent(lambda x: x[:, -1]),
    "one of all steps": lambda: Recurrent(lambda x: x.unbind(1)[2]),
    "a class token": lambda: nn.Sequential(ClassToken(), nn.Linear(8, 3)),
}


@pytest.mark.parametrize("name", SLICED)
def test_a_sum_of_which_only_a_slice_is_read_is_a_site_with_its_own_numbers(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = SLICED[name]()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    expected = []
    with warnings.catch_warnings(), watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        warnings.simplefilter("error")  # as a note that a sum is left out would be
        for _ in range(3):
            optimizer.zero_grad()
            output = model(torch.randn(2, 5, 4))
            last = next(one.last for one in model.modules() if hasattr(one, "last"))
            last.retain_grad()
            output.square().mean().backward()
            expected.append((rms(last), rms(last.grad)))
            optimizer.step()
    found = read(recorder.path)
    assert [site.kind for site in found.sites] == ["start", "sum", "sum"]
    assert "before it is sliced" in str(recorder.sites).splitlines()[2]
    assert "before" not in str(recorder.sites).splitlines()[1]
    for at, (act, grad) in enumerate(expected):
        assert found.row("act_rms", at)[-1] == pytest.approx(act, rel=1e-5)
        assert found.row("grad_rms", at)[-1] == pytest.approx(grad, rel=1e-5)


def test_a_sum_read_whole_is_watched_there() -> None:
    whole, copied = Recurrent(lambda x: x[:, -1], nn.LayerNorm(8)), Recurrent(lambda x: x.mean(1))
    sites = find_sites(traced(whole, torch.ones(2, 5, 4)), whole)
    assert [site.place.is_base for site in sites] == [False] * 3
    lost = find_sites(traced(copied, torch.ones(2, 5, 4)), copied)
    assert (len(lost), lost.notes) == (2, ("1 sums of the stream reach no module and are left out.",))


def test_tracing_changes_no_number_and_leaves_nothing_behind() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), Block(), nn.Dropout(0.5), Block(in_place=True))
    x = torch.ones(2, 8)
    torch.manual_seed(1)
    plain = model(x)
    torch.manual_seed(1)
    with Tracer(model):
        watched = model(x)
    assert torch.equal(plain, watched)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not vars(x)
