"""Small nets of three architectures in typical training loops: healthy ones, and variants with one bug each."""

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

WIDTH, DEPTH, CLASSES = 32, 5, 4
BATCH, STEPS = 32, 80


class Branch(nn.Module):
    """x + W2 gelu(W1 N(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    """A block of pre-norm attention with two heads and the branch above."""

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
        self.conv1, self.conv2 = (nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(WIDTH), nn.BatchNorm2d(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.norm2(self.conv2(self.norm1(self.conv1(x)).relu()))).relu()


class Net(nn.Module):
    """A stem, blocks, and a head that reads the mean over all positions."""

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
    """Random points, labelled by the direction with the largest projection."""
    x = torch.randn(BATCH, 16, generator=source)
    return x, (x @ weights).argmax(-1)


def symbols(source: torch.Generator, _weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sequences of symbols, labelled by their most frequent class."""
    x = torch.randint(16, (BATCH, 12), generator=source)
    return nn.functional.one_hot(x, 16).float(), nn.functional.one_hot(x % CLASSES, CLASSES).sum(1).argmax(-1)


def images(source: torch.Generator, _weights: Tensor) -> tuple[Tensor, Tensor]:
    """Noise with one brighter quarter, which is the label."""
    y = torch.randint(CLASSES, (BATCH,), generator=source)
    x = torch.randn(BATCH, 1, 8, 8, generator=source)
    for image, quarter in zip(x, y.tolist(), strict=True):
        image[:, 4 * (quarter // 2) :, 4 * (quarter % 2) :][:, :4, :4] += 0.5
    return x, y


class Architecture(NamedTuple):
    """A model, the batches that it learns, and Adam's learning rate."""

    build: Callable[[], nn.Module]
    draw_batch: Callable[[torch.Generator, Tensor], tuple[Tensor, Tensor]]
    lr: float


ARCHITECTURES = {
    "MLP": Architecture(lambda: Net(nn.Linear(16, WIDTH), Branch, nn.LayerNorm(WIDTH)), points, 3e-4),
    "transformer": Architecture(lambda: Net(nn.Linear(16, WIDTH), Attention, nn.LayerNorm(WIDTH)), symbols, 2e-4),
    "convnet": Architecture(
        lambda: Net(nn.Conv2d(1, WIDTH, 3, 2, 1), Convolutions, nn.BatchNorm2d(WIDTH)), images, 1e-4
    ),
}


class Training:
    """A model, its batches and Adam. A case changes attributes before `build`."""

    def __init__(self, architecture: str, seed: int) -> None:
        torch.manual_seed(seed)
        build, self.draw_batch, self.lr = ARCHITECTURES[architecture]
        self.model: Any = build()
        self.source = torch.Generator().manual_seed(seed)
        self.weights = torch.randn(16, CLASSES, generator=torch.Generator().manual_seed(0))
        self.accumulate = 1  # batches an update
        self.steps = STEPS
        self.steps_done = 0
        self.options: dict[str, Any] = {}
        self.optimizer_class: Any = torch.optim.Adam
        self.optimizer: Any = None
        self.before_step: list[Callable[[], object]] = []
        self.clip_gradients: Callable[[], object] = lambda: None
        self.zero_gradients: Callable[[], object] = self._zero_gradients
        self.batch: Callable[[], tuple[Tensor, Tensor]] = self._batch
        self.loss: Callable[[Tensor, Tensor], Tensor] = self._loss

    def build(self) -> None:
        """Builds the optimiser of all trainable parameters, unless the case has built one."""
        trainable = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = self.optimizer or self.optimizer_class(trainable, **({"lr": self.lr} | self.options))

    def _zero_gradients(self) -> None:
        self.optimizer.zero_grad()

    def _batch(self) -> tuple[Tensor, Tensor]:
        return self.draw_batch(self.source, self.weights)

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(self.model(x), y)

    def step(self) -> Tensor:
        """Makes one update; returns the mean loss of its batches."""
        for prepare in self.before_step:
            prepare()
        self.zero_gradients()
        losses = []
        for _ in range(self.accumulate):
            loss = self.loss(*self.batch())
            (loss / self.accumulate).backward()
            losses.append(loss.detach())
        self.clip_gradients()
        self.optimizer.step()
        self.steps_done += 1
        return torch.stack(losses).mean()


Case = Callable[[Training], object]


class WrappedBlock(nn.Module):
    """A block whose input goes through a function first; without `grad` under `no_grad`."""

    def __init__(self, block: nn.Module, transform: Callable[[Tensor], Tensor], grad: bool = True) -> None:
        super().__init__()
        self.block, self.grad = block, grad
        self.transform: Callable[[Tensor], Tensor] = transform

    def forward(self, x: Tensor) -> Tensor:
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            y: Tensor = self.block(self.transform(x))
        return y


class Layer(nn.Module):
    """f(W x) over the features, without a residual."""

    def __init__(self, activation: Callable[[Tensor], Tensor], gain: float) -> None:
        super().__init__()
        self.linear, self.activation = nn.Linear(WIDTH, WIDTH), activation
        nn.init.normal_(self.linear.weight, std=gain / math.sqrt(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x.movedim(1, -1) if x.ndim == 4 else x)
        return self.activation(y.movedim(-1, 1) if x.ndim == 4 else y)


class TwoExperts(nn.Module):
    """Two experts that take turns; with `always`, only the expert of that index is called."""

    def __init__(self, block: nn.Module, always: int | None) -> None:
        super().__init__()
        self.experts = nn.ModuleList([block, fresh_copy(block)])
        self.always, self.calls = always, 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        y: Tensor = self.experts[self.calls % 2 if self.always is None else self.always](x)
        return y


class Repeated(nn.Module):
    """A block that is called `times` times."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block, self.times = block, 2

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = self.block(x)
        return x


def fresh_copy(block: nn.Module) -> nn.Module:
    """A block of the same class with new weights."""
    copied = copy.deepcopy(block)
    for module in copied.modules():
        reset: Any = getattr(module, "reset_parameters", None)
        if reset is not None:
            reset()
    return copied


def replace_block(training: Training, index: int, make: Callable[[nn.Module], nn.Module]) -> None:
    training.model.blocks[index] = make(training.model.blocks[index])


def clip(training: Training, limit: float) -> None:
    training.clip_gradients = lambda: nn.utils.clip_grad_norm_(training.model.parameters(), limit)


# --- bugs ---


def copy_layers(training: Training) -> None:
    """Every block starts as a deep copy of the first, as in `nn.TransformerEncoder`."""
    for index in range(1, DEPTH):
        training.model.blocks[index] = copy.deepcopy(training.model.blocks[0])


def exploding_behind_a_clip(training: Training) -> None:
    """From step 40 on the loss is a thousand times too large."""
    clip(training, 1.0)
    correct_loss = training.loss
    training.loss = lambda x, y: correct_loss(x, y) * (1000.0 if training.steps_done >= 40 else 1.0)


def batch_with_infinity(training: Training) -> None:
    """One number of batch 30 is infinite."""
    correct_batch = training.batch

    def batch() -> tuple[Tensor, Tensor]:
        x, y = correct_batch()
        if training.steps_done == 30:
            x.flatten()[7] = math.inf
        return x, y

    training.batch = batch


def thaw_late(training: Training) -> None:
    """The stem is frozen until step 20, but the optimiser has it from the start."""
    for parameter in training.model.stem.parameters():
        parameter.requires_grad_(False)
    training.optimizer = torch.optim.Adam(training.model.parameters(), training.lr)

    def thaw() -> None:
        if training.steps_done == 20:
            for parameter in training.model.stem.parameters():
                parameter.requires_grad_(True)

    training.before_step.append(thaw)


def change_number_of_calls(training: Training) -> None:
    """A block runs two, three or four times, in turn."""
    replace_block(training, 2, Repeated)

    def choose() -> None:
        training.model.blocks[2].times = 2 + training.steps_done % 3

    training.before_step.append(choose)


def remove_residuals(training: Training, activation: Callable[[Tensor], Tensor], gain: float, depth: int) -> None:
    """Replaces the blocks by layers without residuals and norms."""
    training.model.blocks = nn.ModuleList([Layer(activation, gain) for _ in range(depth)])
    training.model.norm = nn.Identity()


def use_sgd(training: Training, lr: float, **options: Any) -> None:
    """Trains with gradient descent instead of Adam."""
    training.optimizer_class, training.lr, training.options = torch.optim.SGD, lr, options


def log_of_zero(training: Training) -> None:
    """From step 30 on the loss takes the logarithm of 0."""

    def loss(x: Tensor, y: Tensor) -> Tensor:
        probability = training.model(x).softmax(-1).gather(1, y[:, None])
        return -(probability * (training.steps_done < 30)).log().mean()

    training.loss = loss


def random_labels(training: Training) -> None:
    correct_batch = training.batch
    training.batch = lambda: (correct_batch()[0], torch.randint(CLASSES, (BATCH,), generator=training.source))


BUGS: dict[str, tuple[Case, tuple[str, ...]]] = {
    "layers are copies": (copy_layers, ("AN-I1",)),
    "clipped at 0.01": (lambda training: clip(training, 0.01), ("AN-C1",)),
    "explodes behind a clip": (exploding_behind_a_clip, ("AN-C2",)),
    "an expert is never chosen": (
        lambda training: replace_block(training, 1, lambda block: TwoExperts(block, 0)), ("AN-W1",),
    ),
    "detach": (
        lambda training: replace_block(training, 2, lambda block: WrappedBlock(block, Tensor.detach)), ("AN-G2",),
    ),
    ".data": (
        lambda training: replace_block(training, 2, lambda block: WrappedBlock(block, lambda x: x.data)), ("AN-G2",),
    ),
    "a block under no_grad": (
        lambda training: replace_block(training, 2, lambda block: WrappedBlock(block, lambda x: x, grad=False)),
        ("AN-G2",),
    ),
    "zero_grad is never called": (lambda training: setattr(training, "zero_gradients", lambda: None), ("AN-G3",)),
    "infinity in a batch": (batch_with_infinity, ("AN-N2",)),
    "a block is called 2 to 4 times": (change_number_of_calls, ("AN-S2",)),
    "frozen until step 20": (thaw_late, ("AN-W2",)),
    "sigmoids without skips": (lambda training: remove_residuals(training, torch.sigmoid, 1.0, 12), ("AN-G1", "AN-S1")),
    "a rate of 1e-9": (lambda training: setattr(training, "lr", 1e-9), ("AN-U1",)),
    "a rate of 1e20": (lambda training: use_sgd(training, 1e20), ("AN-N1",)),
    "log of 0": (log_of_zero, ("AN-N1",)),
    "labels at random": (random_labels, ("AN-L1",)),
}  # fmt: skip


# --- healthy loops ---


def warm_up(training: Training) -> None:
    """The learning rate of AdamW grows from 0 over ten steps."""
    training.optimizer_class = torch.optim.AdamW

    def set_rate() -> None:
        for group in training.optimizer.param_groups:
            group["lr"] = training.lr * min(1, training.steps_done / 10)

    training.before_step.append(set_rate)


def clipped_momentum(training: Training) -> None:
    """Gradient descent with momentum; without the clip some transformers would stay at the loss of guessing."""
    use_sgd(training, 0.005, momentum=0.9)
    clip(training, 1.0)


def zero_through_data(training: Training) -> None:
    """Gradients are zeroed through `.data`, as in old code."""

    def zero() -> None:
        for parameter in training.model.parameters():
            if parameter.grad is not None:
                parameter.grad.data.zero_()

    training.zero_gradients = zero


def freeze_stem(training: Training) -> None:
    """The stem is not trained."""
    for parameter in training.model.stem.parameters():
        parameter.requires_grad_(False)


def zero_last(training: Training) -> None:
    """The last matrix or norm of each branch starts at zero, with a larger rate, because such nets start slowly."""
    training.lr *= 4
    for block in training.model.blocks:
        for name, module in block.named_modules():
            if name.endswith(("down", "out", "norm2")):
                nn.init.zeros_(module.weight)


class RandomlySkipped(WrappedBlock):
    """A block that is skipped in a fifth of all passes."""

    def forward(self, x: Tensor) -> Tensor:
        return x if self.training and torch.rand(()) < 0.2 else self.block(x)


class Checkpointed(WrappedBlock):
    """A block that is computed again in the backward pass."""

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.block, x, use_reentrant=False)


def replace_all_blocks(training: Training, make: Callable[[nn.Module], nn.Module]) -> None:
    """Replaces every block by a block made from it."""
    for index in range(DEPTH):
        replace_block(training, index, make)


def add_teacher(training: Training) -> None:
    """The loss also compares the model with a moving average of itself, as in self-distillation."""
    teacher = copy.deepcopy(training.model).requires_grad_(False)
    task_loss = training.loss

    def loss(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            target = teacher(x).softmax(-1)
            for average, parameter in zip(teacher.parameters(), training.model.parameters(), strict=True):
                average.lerp_(parameter, 0.01)
        return task_loss(x, y) + 0.1 * cross_entropy(training.model(x), target)

    training.loss = loss


def evaluate_between_steps(training: Training) -> None:
    """The model is evaluated before every step."""

    def evaluate() -> None:
        training.model.eval()
        with torch.no_grad():
            training.model(training.batch()[0])
        training.model.train()

    training.before_step.append(evaluate)


HEALTHY: dict[str, Case] = {
    "Adam": lambda _: None,
    "SGD with momentum, clipped at 1": clipped_momentum,
    "AdamW with warm-up": warm_up,
    "four small batches to an update": lambda training: setattr(training, "accumulate", 4),
    "clipped at 1": lambda training: clip(training, 1.0),
    "zero_grad(set_to_none=False)": lambda training: setattr(
        training, "zero_gradients", lambda: training.optimizer.zero_grad(set_to_none=False)
    ),
    "gradients zeroed through .data": zero_through_data,
    "a frozen stem": freeze_stem,
    "branches that start at zero": zero_last,
    "blocks dropped at random": lambda training: replace_all_blocks(
        training, lambda block: RandomlySkipped(block, lambda x: x)
    ),
    "checkpoints": lambda training: replace_all_blocks(training, lambda block: Checkpointed(block, lambda x: x)),
    "straight-through rounding": lambda training: replace_block(
        training, 2, lambda block: WrappedBlock(block, lambda x: x + (x.mul(64).round().div(64) - x).detach())
    ),
    "two experts in turns": lambda training: replace_block(training, 1, lambda block: TwoExperts(block, None)),
    "a teacher that follows": add_teacher,
    "evaluated between steps": evaluate_between_steps,
    "fewer steps": lambda training: setattr(training, "steps", STEPS // 2),
}


def run_case(case: Case, architecture: str, seed: int, watch: Callable[[Training], Any]) -> Training:
    """Trains a case in the context that `watch` returns, and calls its value with each loss."""
    training = Training(architecture, seed)
    case(training)
    training.build()
    with watch(training) as on_loss:
        for _ in range(training.steps):
            on_loss(training.step())
    return training
