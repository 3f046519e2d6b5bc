"""Small nets of three kinds in the training loops that people write: healthy ones, and each with one bug."""

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

WIDTH, DEPTH, CLASSES = 32, 5, 4
BATCH, STEPS = 32, 80


class Branch(nn.Module):
    """x + W2 gelu(W1 N(x)); `scale` multiplies the branch."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    """Two heads of attention with a norm before, then the branch above."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out, self.mlp = (
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), Branch(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        heads = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.mlp(x + self.out(heads.transpose(1, 2).flatten(-2)))


class Convolutions(nn.Module):
    """relu(x + BN(conv(relu(BN(conv(x))))))."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False) for _ in range(2))
        self.first, self.second = nn.BatchNorm2d(WIDTH), nn.BatchNorm2d(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.second(self.two(self.first(self.one(x)).relu()))).relu()


class Net(nn.Module):
    """A stem, blocks, and a head that reads the mean over all places."""

    def __init__(self, stem: nn.Module, block: Callable[[], nn.Module], norm: nn.Module) -> None:
        super().__init__()
        self.stem, self.blocks = stem, nn.ModuleList([block() for _ in range(DEPTH)])
        self.norm, self.head = norm, nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x.flatten(2).mean(2) if x.ndim == 4 else x.mean(1) if x.ndim == 3 else x)


def points(source: torch.Generator, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Points, and which of some directions they lie along most."""
    x = torch.randn(BATCH, 16, generator=source)
    return x, (x @ weights).argmax(-1)


def symbols(source: torch.Generator, _weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sequences of symbols, and of which kind there are most."""
    x = torch.randint(16, (BATCH, 12), generator=source)
    return nn.functional.one_hot(x, 16).float(), nn.functional.one_hot(x % CLASSES, CLASSES).sum(1).argmax(-1)


def images(source: torch.Generator, _weights: Tensor) -> tuple[Tensor, Tensor]:
    """Noise, and the quarter in which there is light."""
    y = torch.randint(CLASSES, (BATCH,), generator=source)
    x = torch.randn(BATCH, 1, 8, 8, generator=source)
    for image, quarter in zip(x, y.tolist(), strict=True):
        image[:, 4 * (quarter // 2) :, 4 * (quarter % 2) :][:, :4, :4] += 0.5
    return x, y


Build = tuple[Callable[[], nn.Module], Callable[[torch.Generator, Tensor], tuple[Tensor, Tensor]], float]
ARCHITECTURES: dict[str, Build] = {
    "MLP": (lambda: Net(nn.Linear(16, WIDTH), Branch, nn.LayerNorm(WIDTH)), points, 3e-4),
    "transformer": (lambda: Net(nn.Linear(16, WIDTH), Attention, nn.LayerNorm(WIDTH)), symbols, 2e-4),
    "convnet": (lambda: Net(nn.Conv2d(1, WIDTH, 3, 2, 1), Convolutions, nn.BatchNorm2d(WIDTH)), images, 1e-4),
}


class Training:
    """A model, its batches and Adam. A case changes what it likes of it before it runs."""

    def __init__(self, architecture: str, seed: int) -> None:
        torch.manual_seed(seed)
        build, self.draw, self.lr = ARCHITECTURES[architecture]
        self.model: Any = build()
        self.source = torch.Generator().manual_seed(seed)
        self.weights = torch.randn(16, CLASSES, generator=torch.Generator().manual_seed(0))
        self.accumulate, self.steps, self.k = 1, STEPS, 0
        self.options: dict[str, Any] = {}
        self.kind: Any = torch.optim.Adam
        self.optimizer: Any = None
        self.prepared: list[Callable[[], object]] = []  # called before every step
        self.clipped: Callable[[], object] = lambda: None  # called before every update
        self.zero: Callable[[], object] = self._zero
        self.batch: Callable[[], tuple[Tensor, Tensor]] = self._batch
        self.loss: Callable[[Tensor, Tensor], Tensor] = self._loss

    def build(self) -> None:
        """Gives all parameters that are trained to the optimiser."""
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = self.optimizer or self.kind(trained, **({"lr": self.lr} | self.options))

    def _zero(self) -> None:
        self.optimizer.zero_grad()

    def _batch(self) -> tuple[Tensor, Tensor]:
        return self.draw(self.source, self.weights)

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(self.model(x), y)

    def step(self) -> Tensor:
        """One update."""
        for prepare in self.prepared:
            prepare()
        self.zero()
        losses = []
        for _ in range(self.accumulate):
            loss = self.loss(*self.batch())
            (loss / self.accumulate).backward()
            losses.append(loss.detach())
        self.clipped()
        self.optimizer.step()
        self.k += 1
        return torch.stack(losses).mean()


Case = Callable[[Training], object]


class Changed(nn.Module):
    """A block whose input or output goes through a function."""

    def __init__(self, block: nn.Module, before: Callable[[Tensor], Tensor], grad: bool = True) -> None:
        super().__init__()
        self.block, self.grad = block, grad
        self.before: Callable[[Tensor], Tensor] = before

    def forward(self, x: Tensor) -> Tensor:
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            y: Tensor = self.block(self.before(x))
        return y


class Layer(nn.Module):
    """f(W x), without a skip."""

    def __init__(self, activation: Callable[[Tensor], Tensor], gain: float) -> None:
        super().__init__()
        self.linear, self.activation = nn.Linear(WIDTH, WIDTH), activation
        nn.init.normal_(self.linear.weight, std=gain / math.sqrt(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        moved: Tensor = self.linear(x.movedim(1, -1) if x.ndim == 4 else x)
        return self.activation(moved.movedim(-1, 1) if x.ndim == 4 else moved)


class Chosen(nn.Module):
    """Two experts, of which the router takes `always`, or by the sign of a projection."""

    def __init__(self, block: nn.Module, always: int | None) -> None:
        super().__init__()
        self.experts = nn.ModuleList([block, copy_anew(block)])
        self.always, self.k = always, 0

    def forward(self, x: Tensor) -> Tensor:
        self.k += 1
        chosen: Tensor = self.experts[self.k % 2 if self.always is None else self.always](x)
        return chosen


class Repeated(nn.Module):
    """A block that is called as often as somebody says."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block, self.times = block, 2

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = self.block(x)
        return x


def copy_anew(block: nn.Module) -> nn.Module:
    """A block of the same kind with weights of its own."""
    other = copy.deepcopy(block)
    for module in other.modules():
        reset: Any = getattr(module, "reset_parameters", None)
        if reset is not None:
            reset()
    return other


def change(training: Training, at: int, make: Callable[[nn.Module], nn.Module]) -> None:
    """Puts another block in the place of one."""
    training.model.blocks[at] = make(training.model.blocks[at])


def clip(training: Training, limit: float) -> None:
    """Clips the norm of all gradients."""
    training.clipped = lambda: nn.utils.clip_grad_norm_(training.model.parameters(), limit)


# --- bugs ---


def copied_layers(training: Training) -> None:
    """Every block is a deep copy of the first, as `nn.TransformerEncoder` makes them."""
    for at in range(1, DEPTH):
        training.model.blocks[at] = copy.deepcopy(training.model.blocks[0])


def exploding_behind_a_clip(training: Training) -> None:
    """From step 40 on the loss is a thousand times too large."""
    clip(training, 1.0)
    right = training.loss
    training.loss = lambda x, y: right(x, y) * (1000.0 if training.k >= 40 else 1.0)


def batch_with_infinity(training: Training) -> None:
    """One number of batch 30 is infinite."""
    right = training.batch

    def batch() -> tuple[Tensor, Tensor]:
        x, y = right()
        if training.k == 30:
            x.flatten()[7] = math.inf
        return x, y

    training.batch = batch


def thawed_late(training: Training) -> None:
    """The stem is frozen until step 20, and the optimiser has it from the start."""
    for parameter in training.model.stem.parameters():
        parameter.requires_grad_(False)
    training.optimizer = torch.optim.Adam(training.model.parameters(), training.lr)

    def thaw() -> None:
        if training.k == 20:
            for parameter in training.model.stem.parameters():
                parameter.requires_grad_(True)

    training.prepared.append(thaw)


def other_number_of_calls(training: Training) -> None:
    """A block runs two to four times, another number in every step."""
    change(training, 2, Repeated)

    def choose() -> None:
        training.model.blocks[2].times = 2 + training.k % 3

    training.prepared.append(choose)


def without_skips(training: Training, activation: Callable[[Tensor], Tensor], gain: float, depth: int) -> None:
    """Layers without skips in place of the blocks."""
    training.model.blocks = nn.ModuleList([Layer(activation, gain) for _ in range(depth)])
    training.model.norm = nn.Identity()


def rate(training: Training, lr: float) -> None:
    """Another learning rate."""
    training.lr = lr


def sgd(training: Training, lr: float, **options: Any) -> None:
    """Plain gradient descent."""
    training.kind, training.lr, training.options = torch.optim.SGD, lr, options


def nothing() -> None:
    """In place of `zero_grad`."""


def log_of_zero(training: Training) -> None:
    """The loss takes the logarithm of a probability that has become 0."""

    def loss(x: Tensor, y: Tensor) -> Tensor:
        probability = training.model(x).softmax(-1).gather(1, y[:, None])
        return -(probability * (training.k < 30)).log().mean()

    training.loss = loss


def random_labels(training: Training) -> None:
    """The labels have nothing to do with the batch."""
    right = training.batch
    training.batch = lambda: (right()[0], torch.randint(CLASSES, (BATCH,), generator=training.source))


BUGS: dict[str, tuple[Case, tuple[str, ...]]] = {
    "layers are copies": (copied_layers, ("AN-I1",)),
    "clipped at 0.01": (lambda one: clip(one, 0.01), ("AN-C1",)),
    "explodes behind a clip": (exploding_behind_a_clip, ("AN-C2",)),
    "an expert is never chosen": (lambda one: change(one, 1, lambda block: Chosen(block, 0)), ("AN-W1",)),
    "detach": (lambda one: change(one, 2, lambda block: Changed(block, Tensor.detach)), ("AN-G2",)),
    ".data": (lambda one: change(one, 2, lambda block: Changed(block, lambda x: x.data)), ("AN-G2",)),
    "a block under no_grad": (
        lambda one: change(one, 2, lambda block: Changed(block, lambda x: x, grad=False)), ("AN-G2",),
    ),
    "zero_grad is never called": (lambda one: setattr(one, "zero", nothing), ("AN-G3",)),
    "infinity in a batch": (batch_with_infinity, ("AN-N2",)),
    "a block is called 2 to 4 times": (other_number_of_calls, ("AN-S2",)),
    "frozen until step 20": (thawed_late, ("AN-W2",)),
    "sigmoids without skips": (lambda one: without_skips(one, torch.sigmoid, 1.0, 12), ("AN-G1", "AN-S1")),
    "a rate of 1e-9": (lambda one: rate(one, 1e-9), ("AN-U1",)),
    "a rate of 1e20": (lambda one: sgd(one, 1e20), ("AN-N1",)),
    "log of 0": (log_of_zero, ("AN-N1",)),
    "labels at random": (random_labels, ("AN-L1",)),
}  # fmt: skip


# --- healthy loops ---


def warm_up(training: Training) -> None:
    """The learning rate of AdamW grows over ten steps from 0."""
    training.kind = torch.optim.AdamW
    training.prepared.append(
        lambda: [group.update(lr=training.lr * min(1, training.k / 10)) for group in training.optimizer.param_groups]
    )


def clipped_momentum(training: Training) -> None:
    """Gradient descent with momentum; unclipped, it leaves some of the transformers at the loss of guessing."""
    sgd(training, 0.005, momentum=0.9)
    clip(training, 1.0)


def zero_by_data(training: Training) -> None:
    """Gradients are zeroed as they were before `zero_grad`."""

    def zero() -> None:
        for parameter in training.model.parameters():
            if parameter.grad is not None:
                parameter.grad.data.zero_()

    training.zero = zero


def frozen_stem(training: Training) -> None:
    """The stem is not trained."""
    for parameter in training.model.stem.parameters():
        parameter.requires_grad_(False)


def zero_last(training: Training) -> None:
    """The last matrix or norm of each branch starts at zero; the rate is larger, for such nets begin slowly."""
    training.lr *= 4
    for block in training.model.blocks:
        for name, module in block.named_modules():
            if name.endswith(("down", "out", "second")):
                nn.init.zeros_(module.weight)


class Dropped(Changed):
    """A block that is left out in a fifth of all passes."""

    def forward(self, x: Tensor) -> Tensor:
        return x if self.training and torch.rand(()) < 0.2 else self.block(x)


class Checkpointed(Changed):
    """A block that is computed again on the way back."""

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.block, x, use_reentrant=False)


def each(training: Training, make: Callable[[nn.Module], nn.Module]) -> None:
    """Puts another block in the place of each."""
    for at in range(DEPTH):
        change(training, at, make)


def teacher(training: Training) -> None:
    """The loss also compares with a copy whose weights follow the model's, as in distillation with itself."""
    other = copy.deepcopy(training.model).requires_grad_(False)
    right = training.loss

    def loss(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            target = other(x).softmax(-1)
            for one, own in zip(other.parameters(), training.model.parameters(), strict=True):
                one.lerp_(own, 0.01)
        return right(x, y) + 0.1 * cross_entropy(training.model(x), target)

    training.loss = loss


def evaluated(training: Training) -> None:
    """The model is evaluated before every step."""

    def look() -> None:
        training.model.eval()
        with torch.no_grad():
            training.model(training.batch()[0])
        training.model.train()

    training.prepared.append(look)


HEALTHY: dict[str, Case] = {
    "Adam": lambda _: None,
    "SGD with momentum, clipped at 1": clipped_momentum,
    "AdamW with warm-up": warm_up,
    "four small batches to an update": lambda one: setattr(one, "accumulate", 4),
    "clipped at 1": lambda one: clip(one, 1.0),
    "zero_grad(set_to_none=False)": lambda one: setattr(
        one, "zero", lambda: one.optimizer.zero_grad(set_to_none=False)
    ),
    "gradients zeroed through .data": zero_by_data,
    "a frozen stem": frozen_stem,
    "branches that start at zero": zero_last,
    "blocks dropped at random": lambda one: each(one, lambda block: Dropped(block, lambda x: x)),
    "checkpoints": lambda one: each(one, lambda block: Checkpointed(block, lambda x: x)),
    "straight-through rounding": lambda one: change(
        one, 2, lambda block: Changed(block, lambda x: x + (x.mul(64).round().div(64) - x).detach())
    ),
    "two experts in turns": lambda one: change(one, 1, lambda block: Chosen(block, None)),
    "a teacher that follows": teacher,
    "evaluated between steps": evaluated,
    "fewer steps": lambda one: setattr(one, "steps", STEPS // 2),
}


def trained(case: Case, architecture: str, seed: int, watched: Callable[[Training], Any]) -> Training:
    """A training of a case. `watched`: gives a context in which it runs, that is told each loss."""
    training = Training(architecture, seed)
    case(training)
    training.build()
    with watched(training) as tell:
        for _ in range(training.steps):
            tell(training.step())
    return training
