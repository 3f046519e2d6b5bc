"""Small nets of three architectures in typical training loops: healthy ones, and variants with one bug each."""

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from tests.addnorm.shapes import brighten_quarters, follow

WIDTH = 32
DEPTH = 5  # blocks
CLASSES = 4
BATCH = 32  # samples
STEPS = 80
FEATURES = 16  # of a point; also the number of different symbols
SEQUENCE_LENGTH = 12  # symbols


class Branch(nn.Module):
    """A residual MLP block: x + W2 gelu(W1 N(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.has_skip = True
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(nn.functional.gelu(self.up(self.norm(x))))
        return x + y if self.has_skip else y


class Attention(nn.Module):
    """A transformer block: pre-norm attention with two heads, followed by a `Branch`."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = Branch()

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        heads = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.mlp(x + self.out(heads.transpose(1, 2).flatten(-2)))


class Convolutions(nn.Module):
    """A residual block of two convolutions: relu(x + BN(conv(relu(BN(conv(x))))))."""

    def __init__(self) -> None:
        super().__init__()
        self.has_skip = True
        self.conv1, self.conv2 = (nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False) for _ in range(2))
        self.norm1 = nn.BatchNorm2d(WIDTH)
        self.norm2 = nn.BatchNorm2d(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm1(self.conv1(x)).relu()
        y: Tensor = self.norm2(self.conv2(hidden))
        return (x + y if self.has_skip else y).relu()


class Net(nn.Module):
    """A stem, blocks, and a head that reads the mean over all positions."""

    def __init__(self, stem: nn.Module, block: Callable[[], nn.Module], norm: nn.Module) -> None:
        super().__init__()
        self.stem = stem
        self.blocks = nn.ModuleList([block() for _ in range(DEPTH)])
        self.norm = norm
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if x.ndim == 4:  # images: (batch, features, height, width)
            x = x.flatten(2).mean(2)
        elif x.ndim == 3:  # sequences: (batch, positions, features)
            x = x.mean(1)
        return self.head(x)


def draw_points(source: torch.Generator, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Draws random points and their labels: the column of `weights` on which the projection is largest."""
    x = torch.randn(BATCH, FEATURES, generator=source)
    return x, (x @ weights).argmax(-1)


def draw_symbols(source: torch.Generator, _weights: Tensor) -> tuple[Tensor, Tensor]:
    """Draws one-hot sequences of symbols and their labels: the most frequent class of a sequence's symbols."""
    x = torch.randint(FEATURES, (BATCH, SEQUENCE_LENGTH), generator=source)
    class_counts = nn.functional.one_hot(x % CLASSES, CLASSES).sum(1)
    return nn.functional.one_hot(x, FEATURES).float(), class_counts.argmax(-1)


def draw_images(source: torch.Generator, _weights: Tensor) -> tuple[Tensor, Tensor]:
    """Draws 8 x 8 images of noise with one brighter quarter; the number of that quarter is the label."""
    y = torch.randint(CLASSES, (BATCH,), generator=source)
    return brighten_quarters(torch.randn(BATCH, 1, 8, 8, generator=source), y, 0.5), y


class Architecture(NamedTuple):
    """A builder of models, a function that draws batches for them, and Adam's learning rate."""

    build: Callable[[], nn.Module]
    draw_batch: Callable[[torch.Generator, Tensor], tuple[Tensor, Tensor]]
    lr: float


ARCHITECTURES = {
    "MLP": Architecture(lambda: Net(nn.Linear(FEATURES, WIDTH), Branch, nn.LayerNorm(WIDTH)), draw_points, 3e-4),
    "transformer": Architecture(
        lambda: Net(nn.Linear(FEATURES, WIDTH), Attention, nn.LayerNorm(WIDTH)), draw_symbols, 2e-4
    ),
    "convnet": Architecture(
        lambda: Net(nn.Conv2d(1, WIDTH, 3, 2, 1), Convolutions, nn.BatchNorm2d(WIDTH)), draw_images, 1e-4
    ),
}


class Training:
    """The training of a model with Adam. A case changes attributes before `build` is called."""

    def __init__(self, architecture: str, seed: int) -> None:
        torch.manual_seed(seed)
        chosen = ARCHITECTURES[architecture]
        self.draw_batch = chosen.draw_batch
        self.lr = chosen.lr
        self.model: Any = chosen.build()
        self.source = torch.Generator().manual_seed(seed)
        self.weights = torch.randn(FEATURES, CLASSES, generator=torch.Generator().manual_seed(0))
        self.accumulate = 1  # batches per update
        self.divide = True  # the loss of each by their number
        self.steps = STEPS
        self.steps_done = 0
        self.options: dict[str, Any] = {}  # of the optimiser
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
        if self.optimizer is None:
            options = {"lr": self.lr} | self.options
            self.optimizer = self.optimizer_class(trainable, **options)

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
            (loss / self.accumulate if self.divide else loss).backward()
            losses.append(loss.detach())
        self.clip_gradients()
        self.optimizer.step()
        self.steps_done += 1
        return torch.stack(losses).mean()


Case = Callable[[Training], object]


class WrappedBlock(nn.Module):
    """A block behind a function of its input; with `grad=False`, both run under `no_grad`."""

    def __init__(
        self, block: nn.Module, transform: Callable[[Tensor], Tensor] = lambda x: x, grad: bool = True
    ) -> None:
        super().__init__()
        self.block = block
        self.grad = grad
        self.transform: Callable[[Tensor], Tensor] = transform

    def forward(self, x: Tensor) -> Tensor:
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            y: Tensor = self.block(self.transform(x))
        return y


class Layer(nn.Module):
    """A linear map of the features and an activation, without a residual: f(W x)."""

    def __init__(self, activation: Callable[[Tensor], Tensor], gain: float) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.activation = activation
        nn.init.normal_(self.linear.weight, std=gain / math.sqrt(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        is_image = x.ndim == 4  # its features are on axis 1
        y: Tensor = self.linear(x.movedim(1, -1) if is_image else x)
        return self.activation(y.movedim(-1, 1) if is_image else y)


class TwoExperts(nn.Module):
    """Two experts that are called in turns, or only the expert with the index `always`."""

    def __init__(self, block: nn.Module, always: int | None) -> None:
        super().__init__()
        self.experts = nn.ModuleList([block, fresh_copy(block)])
        self.always = always
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        index = self.calls % 2 if self.always is None else self.always
        y: Tensor = self.experts[index](x)
        return y


class Repeated(nn.Module):
    """A block that is called `times` times."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block
        self.times = 2

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = self.block(x)
        return x


class Outlier(nn.Module):
    """A block and, where `is_there`, one number of its output that dwarfs all others."""

    def __init__(self, block: nn.Module, is_there: bool) -> None:
        super().__init__()
        self.block = block
        self.is_there = is_there

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.block(x)
        return y.masked_fill((torch.arange(y.numel()) == 0).view_as(y) & self.is_there, 2000.0)


def fresh_copy(block: nn.Module) -> nn.Module:
    """A block of the same class with new weights."""
    copied = copy.deepcopy(block)
    for module in copied.modules():
        reset: Any = getattr(module, "reset_parameters", None)
        if reset is not None:
            reset()
    return copied


def replace_block(training: Training, index: int, make: Callable[[nn.Module], nn.Module]) -> None:
    """Replaces one block by what `make` returns for it."""
    training.model.blocks[index] = make(training.model.blocks[index])


def wrap_block(**options: Any) -> Case:
    """A case whose third block is a `WrappedBlock` with these options."""
    return lambda training: replace_block(training, 2, lambda block: WrappedBlock(block, **options))


def clip(training: Training, limit: float) -> None:
    """Clips the norm of all gradients at `limit`."""
    training.clip_gradients = lambda: nn.utils.clip_grad_norm_(training.model.parameters(), limit)


def change_batch(training: Training, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
    """Trains on what `change` makes of each batch."""
    drawn = training.batch
    training.batch = lambda: change(*drawn())


def set_rate(training: Training, lr: float) -> None:
    training.lr = lr


# --- bugs ---


def copy_layers(training: Training) -> None:
    """Every block starts as a deep copy of the first, as in `nn.TransformerEncoder`."""
    for index in range(1, DEPTH):
        training.model.blocks[index] = copy.deepcopy(training.model.blocks[0])


def scale_loss_late(training: Training) -> None:
    """The gradients are clipped at 1, and from step 40 on the loss is a thousand times too large."""
    clip(training, 1.0)
    correct_loss = training.loss

    def loss(x: Tensor, y: Tensor) -> Tensor:
        factor = 1000.0 if training.steps_done >= 40 else 1.0
        return correct_loss(x, y) * factor

    training.loss = loss


def skip_zero_grad(training: Training) -> None:
    """The gradients of all steps add up."""
    training.zero_gradients = lambda: None


def put_infinity_in_batch(training: Training) -> None:
    """One number of batch 30 is infinite."""

    def put(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if training.steps_done == 30:
            x.flatten()[7] = math.inf
        return x, y

    change_batch(training, put)


def thaw_late(training: Training) -> None:
    """The stem is frozen until step 20, but the optimiser has it from the start."""
    training.model.stem.requires_grad_(False)
    training.optimizer = torch.optim.Adam(training.model.parameters(), training.lr)

    def thaw() -> None:
        if training.steps_done == 20:
            training.model.stem.requires_grad_(True)

    training.before_step.append(thaw)


def change_number_of_calls(training: Training) -> None:
    """A block is called two, three or four times, changing from step to step."""
    replace_block(training, 2, Repeated)

    def set_times() -> None:
        training.model.blocks[2].times = 2 + training.steps_done % 3

    training.before_step.append(set_times)


def remove_residuals(training: Training, activation: Callable[[Tensor], Tensor], gain: float, depth: int) -> None:
    """Replaces the blocks by layers without residuals and norms."""
    training.model.blocks = nn.ModuleList([Layer(activation, gain) for _ in range(depth)])
    training.model.norm = nn.Identity()


def use_sgd(training: Training, lr: float, **options: Any) -> None:
    """Trains with gradient descent instead of Adam."""
    training.optimizer_class = torch.optim.SGD
    training.lr = lr
    training.options = options


def take_log_of_zero(training: Training) -> None:
    """From step 30 on the loss takes the logarithm of 0."""

    def loss(x: Tensor, y: Tensor) -> Tensor:
        probability = training.model(x).softmax(-1).gather(1, y[:, None])
        if training.steps_done >= 30:
            probability = probability * 0
        return -probability.log().mean()

    training.loss = loss


def randomise_labels(training: Training) -> None:
    """The labels do not depend on the inputs. The weights move far enough to learn if they could."""
    training.steps = 2 * STEPS
    training.lr *= 4
    change_batch(training, lambda x, _: (x, torch.randint(CLASSES, (BATCH,), generator=training.source)))


def forget_skip(training: Training) -> None:
    """One block returns its branch alone."""
    block = training.model.blocks[2]
    getattr(block, "mlp", block).has_skip = False


def keep_rate_at_zero(training: Training) -> None:
    """A schedule sets the rate to 0 in every step."""
    training.before_step.append(lambda: training.optimizer.param_groups[0].update(lr=0.0))


def leave_out_of_optimizer(training: Training, part: str) -> None:
    """The optimiser is built of all parameters but those of a part."""
    left_out = {id(parameter) for parameter in getattr(training.model, part).parameters()}
    others = [parameter for parameter in training.model.parameters() if id(parameter) not in left_out]
    training.optimizer = torch.optim.Adam(others, training.lr)


def keep_blocks_in_list(training: Training) -> None:
    """The blocks are in a list of Python's, of which the model does not know."""
    model = training.model
    blocks = list(model.blocks)
    del model.blocks
    model.blocks = blocks


def apply_softmax_twice(training: Training) -> None:
    training.loss = lambda x, y: cross_entropy(training.model(x).softmax(-1), y)


def draw_head_large(training: Training) -> None:
    """The head is drawn as a table of symbols is: N(0, 1)."""
    nn.init.normal_(training.model.head.weight)
    training.model.head.weight.data *= 4


def zero_between_batches(training: Training) -> None:
    """The gradients are zeroed before each of four small batches."""
    training.accumulate = 4
    correct_loss = training.loss

    def loss(x: Tensor, y: Tensor) -> Tensor:
        training.optimizer.zero_grad()
        return correct_loss(x, y)

    training.loss = loss


def add_up_means(training: Training) -> None:
    """The gradients of four small batches add up, and nothing divides them by four."""
    training.accumulate = 4
    training.divide = False


def repeat_input(training: Training) -> None:
    """The inputs are those of the first batch, and the labels those of the present one."""
    first, _ = training.batch()
    change_batch(training, lambda _, y: (first, y))


def train_in_bfloat16(training: Training, lr: float) -> None:
    """Weights and inputs are in bfloat16."""
    training.model.to(torch.bfloat16)
    training.lr = lr
    change_batch(training, lambda x, y: (x.to(torch.bfloat16), y))
    training.loss = lambda x, y: cross_entropy(training.model(x).float(), y)


def climb_late(training: Training) -> None:
    """From step 60 on the optimiser climbs instead of descending."""

    def climb() -> None:
        for group in training.optimizer.param_groups:
            group["maximize"] = training.steps_done >= 60

    training.steps = 2 * STEPS
    training.before_step.append(climb)


def add_outlier(training: Training, since: int) -> None:
    """One number dwarfs all others from a step on. Points come in large batches: of n numbers none exceeds √n RMS."""
    replace_block(training, 2, lambda block: Outlier(block, is_there=not since))
    training.before_step.append(lambda: setattr(training.model.blocks[2], "is_there", training.steps_done >= since))
    draw = training.batch

    def batch() -> tuple[Tensor, Tensor]:
        x, y = draw()
        if x.ndim > 2:
            return x, y
        others = [(x, y), *(draw() for _ in range(15))]
        return torch.cat([x for x, _ in others]), torch.cat([y for _, y in others])

    training.batch = batch


# By name: the case, and the ids of the findings that report it.
BUGS: dict[str, tuple[Case, tuple[str, ...]]] = {
    "layers are copies": (copy_layers, ("AN-I1",)),
    "clipped at 0.01": (lambda training: clip(training, 0.01), ("AN-C1",)),
    "explodes behind a clip": (scale_loss_late, ("AN-C2",)),
    "an expert is never chosen": (
        lambda training: replace_block(training, 1, lambda block: TwoExperts(block, 0)), ("AN-W1",),
    ),
    "detach": (wrap_block(transform=Tensor.detach), ("AN-G2",)),
    ".data": (wrap_block(transform=lambda x: x.data), ("AN-G2",)),
    "a block under no_grad": (wrap_block(grad=False), ("AN-G2",)),
    "zero_grad is never called": (skip_zero_grad, ("AN-G3",)),
    "infinity in a batch": (put_infinity_in_batch, ("AN-N2",)),
    "a block is called 2 to 4 times": (change_number_of_calls, ("AN-S2",)),
    "frozen until step 20": (thaw_late, ("AN-W2",)),
    "sigmoids without skips": (lambda training: remove_residuals(training, torch.sigmoid, 1.0, 12), ("AN-G1", "AN-S1")),
    "a rate of 1e-9": (lambda training: set_rate(training, 1e-9), ("AN-U1",)),
    "a rate of 1e20": (lambda training: use_sgd(training, 1e20), ("AN-N1",)),
    "log of 0": (take_log_of_zero, ("AN-N1",)),
    "labels at random": (randomise_labels, ("AN-L1",)),
    "a block without its skip": (forget_skip, ("AN-B1",)),
    "a rate of 10": (lambda training: set_rate(training, 10), ("AN-U2",)),
    "a rate that stays 0": (keep_rate_at_zero, ("AN-R1",)),
    "a stem in no optimiser": (lambda training: leave_out_of_optimizer(training, "stem"), ("AN-W3",)),
    "a head in no optimiser": (lambda training: leave_out_of_optimizer(training, "head"), ("AN-W3",)),
    "blocks in a list": (keep_blocks_in_list, ("AN-W3",)),
    "softmax before the loss": (apply_softmax_twice, ("AN-L2",)),
    "a head drawn large": (draw_head_large, ("AN-L3",)),
    "zero_grad between small batches": (zero_between_batches, ("AN-G4",)),
    "a sum of mean losses": (add_up_means, ("AN-G5",)),
    "the same input in every step": (repeat_input, ("AN-D1",)),
    "a rate of 1e-5 in bfloat16": (lambda training: train_in_bfloat16(training, 1e-5), ("AN-U3",)),
    "the loss climbs from step 60 on": (climb_late, ("AN-L1",)),
    "an outlier from step 10 on": (lambda training: add_outlier(training, 10), ("AN-S3",)),
}  # fmt: skip


# --- healthy loops ---


def warm_up(training: Training) -> None:
    """The learning rate of AdamW grows from 0 over ten steps."""
    training.optimizer_class = torch.optim.AdamW

    def grow_rate() -> None:
        for group in training.optimizer.param_groups:
            group["lr"] = training.lr * min(1, training.steps_done / 10)

    training.before_step.append(grow_rate)


def use_clipped_momentum(training: Training) -> None:
    """Uses momentum and a clip, without which some transformers would stay at the loss of guessing."""
    use_sgd(training, 0.005, momentum=0.9)
    clip(training, 1.0)


def accumulate_four_batches(training: Training) -> None:
    training.accumulate = 4


def zero_in_place(training: Training) -> None:
    """Gradients are set to zero instead of None."""
    training.zero_gradients = lambda: training.optimizer.zero_grad(set_to_none=False)


def halve_steps(training: Training) -> None:
    training.steps = STEPS // 2


def zero_through_data(training: Training) -> None:
    """Gradients are zeroed through `.data`, as in old code."""

    def zero() -> None:
        for parameter in training.model.parameters():
            if parameter.grad is not None:
                parameter.grad.data.zero_()

    training.zero_gradients = zero


def freeze_stem(training: Training) -> None:
    """The stem is not trained."""
    training.model.stem.requires_grad_(False)


def start_branches_at_zero(training: Training) -> None:
    """The last matrix or norm of each branch starts at zero. The learning rate is larger: such nets start slowly."""
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
        follow(teacher, training.model, 0.01)
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
    "SGD with momentum, clipped at 1": use_clipped_momentum,
    "AdamW with warm-up": warm_up,
    "four small batches to an update": accumulate_four_batches,
    "clipped at 1": lambda training: clip(training, 1.0),
    "zero_grad(set_to_none=False)": zero_in_place,
    "gradients zeroed through .data": zero_through_data,
    "a frozen stem": freeze_stem,
    "branches that start at zero": start_branches_at_zero,
    "blocks dropped at random": lambda training: replace_all_blocks(training, RandomlySkipped),
    "checkpoints": lambda training: replace_all_blocks(training, Checkpointed),
    "straight-through rounding": wrap_block(transform=lambda x: x + (x.mul(64).round().div(64) - x).detach()),
    "two experts in turns": lambda training: replace_block(training, 1, lambda block: TwoExperts(block, None)),
    "a teacher that follows": add_teacher,
    "evaluated between steps": evaluate_between_steps,
    "fewer steps": halve_steps,
    "an outlier from the start on": lambda training: add_outlier(training, 0),
}


def run_case(case: Case, architecture: str, seed: int, watch: Callable[[Training], Any]) -> Training:
    """Trains a case inside the context manager that `watch` returns; the value of its `with` receives each loss."""
    training = Training(architecture, seed)
    case(training)
    training.build()
    with watch(training) as on_loss:
        for _ in range(training.steps):
            on_loss(training.step())
    return training
