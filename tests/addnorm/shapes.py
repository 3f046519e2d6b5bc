"""Healthy training loops of other people's shapes, small: adversaries, critics, copies, experts and penalties."""

import copy
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.utils.prune
from torch import Tensor, nn
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    cosine_similarity,
    cross_entropy,
    kl_div,
    linear,
    mse_loss,
    normalize,
    one_hot,
    smooth_l1_loss,
)

WIDTH = 24
BATCH = 32
CLASSES = 4
STEPS = 100
SYMBOLS = 16
LENGTH = 12


class Watched(NamedTuple):
    """What a tool is given: the model, and the optimiser that is to train it; None where there is no single one."""

    model: nn.Module
    optimizer: Any


OnLoss = Callable[[Any], object]  # takes the loss of a step
Watch = Callable[[Watched], AbstractContextManager[OnLoss]]
Shape = Callable[[int, Watch], object]  # trains with a seed, inside what `watch` returns

SHAPES: dict[str, Shape] = {}


def shape(name: str) -> Callable[[Callable[[Watch], object]], Callable[[Watch], object]]:
    """Adds a loop to SHAPES by its name."""

    def add(train: Callable[[Watch], object]) -> Callable[[Watch], object]:
        def seeded(seed: int, watch: Watch) -> object:
            torch.manual_seed(seed)
            return train(watch)

        SHAPES[name] = seeded
        return train

    return add


# --- data and parts ---


def points() -> tuple[Tensor, Tensor]:
    """Points and the class of each: the signs of two of its numbers."""
    x = torch.randn(BATCH, WIDTH)
    return x, (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0)


def images() -> tuple[Tensor, Tensor]:
    """Images of noise with one brighter quarter, and the number of this quarter."""
    y = torch.randint(CLASSES, (BATCH,))
    return brighten_quarters(0.5 * torch.randn(BATCH, 1, 16, 16), y, 1), y


def brighten_quarters(x: Tensor, y: Tensor, by: float) -> Tensor:
    """Adds a number to one quarter of each image, in place; `y` has the numbers of the quarters."""
    half = x.shape[-1] // 2
    for image, quarter in zip(x, y.tolist(), strict=True):
        image[:, half * (quarter // 2) :, half * (quarter % 2) :][:, :half, :half] += by
    return x


def symbols() -> Tensor:
    """Sequences that count upwards from a random symbol."""
    return (torch.randint(SYMBOLS, (BATCH, 1)) + torch.arange(LENGTH + 1)) % SYMBOLS


def circle() -> Tensor:
    angle = 2 * math.pi * torch.rand(BATCH)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(BATCH, 2)


def mlp(*widths: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), activation()]
    return nn.Sequential(*layers[:-1])


class Block(nn.Module):
    """x + MLP(N(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mlp = mlp(WIDTH, 2 * WIDTH, WIDTH, activation=nn.GELU)

    def forward(self, x: Tensor) -> Any:
        return x + self.mlp(self.norm(x))


class Attention(nn.Module):
    """x + attention(N(x)), causal unless it is told otherwise."""

    def __init__(self, causal: bool = True) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.causal = causal

    def forward(self, x: Tensor) -> Any:
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return x + self.out(heads.transpose(1, 2).flatten(-2))


class GPT(nn.Module):
    """A language model as GPT-2 starts it: N(0, 0.02), tied, the last matrices of branches smaller."""

    def __init__(self, depth: int = 4) -> None:
        super().__init__()
        self.table = nn.Embedding(SYMBOLS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([nn.Sequential(Attention(), Block()) for _ in range(depth)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, SYMBOLS, bias=False)
        self.head.weight = self.table.weight
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                is_last = name.endswith(("out.weight", "mlp.2.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * depth) if is_last else 0.02)

    def forward(self, x: Tensor) -> Any:
        x = self.table(x) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def class_loss(
    model: Callable[[Tensor], Tensor], draw: Callable[[], tuple[Tensor, Tensor]] = points
) -> Callable[[], Tensor]:
    """The loss of a batch drawn anew at every call."""

    def loss() -> Tensor:
        x, y = draw()
        return cross_entropy(model(x), y)

    return loss


def next_symbol_loss(model: Callable[[Tensor], Tensor], samples: int = BATCH) -> Tensor:
    x = symbols()[:samples]
    return cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())


def residual_net(depth: int = 3, block: Callable[[], nn.Module] = Block) -> nn.Sequential:
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), *(block() for _ in range(depth)), nn.Linear(WIDTH, CLASSES))


def adam(model: nn.Module, lr: float = 1e-3) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr)


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, share: float) -> None:
    """Moves the weights of `slow` by a share of the way to those of `fast`."""
    for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
        old.lerp_(new, share)


def fit(
    watch: Watch,
    model: nn.Module,
    loss: Callable[[], Tensor],
    optimizer: Any = None,
    *,
    steps: int = STEPS,
    each: Callable[[int], object] = lambda step: None,
    late_zero: Callable[[], object] | None = None,
) -> None:
    """The plain loop. `each` is called with the number of the step after its update.

    `late_zero` zeroes the gradients between the loss and its backward pass; without it they are zeroed before both.
    """
    optimizer = optimizer or adam(model)
    with watch(Watched(model, optimizer)) as on_loss:
        for step in range(steps):
            if late_zero is None:
                optimizer.zero_grad()
            value = loss()
            if late_zero is not None:
                late_zero()
            value.backward()
            optimizer.step()
            on_loss(value.detach())
            each(step)


def pretrain(model: nn.Module, loss: Callable[[], Tensor], steps: int) -> None:
    """The plain loop that no tool watches."""
    fit(lambda watched: nullcontext(lambda value: None), model, loss, adam(model, 3e-3), steps=steps)


def fit_by_closure(watch: Watch, model: nn.Module, loss: Callable[[], Tensor], optimizer: Any, steps: int) -> None:
    """The loop whose optimiser computes the loss and its gradients, as often as it wants."""

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    with watch(Watched(model, optimizer)) as on_loss:
        for _ in range(steps):
            on_loss(optimizer.step(closure))


# --- adversaries and critics ---


def train_gan(watch: Watch, whose: str, shares_batch: bool) -> None:
    generator, discriminator = mlp(4, 32, 32, 2), mlp(2, 32, 32, 1)
    optimizers = {"generator": adam(generator), "discriminator": adam(discriminator)}
    models = {"generator": generator, "discriminator": discriminator}
    ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    with watch(Watched(models[whose], optimizers[whose])) as on_loss:
        for _ in range(STEPS):
            fake = generator(torch.randn(BATCH, 4))
            optimizers["discriminator"].zero_grad()
            real_loss = binary_cross_entropy_with_logits(discriminator(circle()), ones)
            fake_loss = binary_cross_entropy_with_logits(discriminator(fake.detach()), zeros)
            (real_loss + fake_loss).backward()
            optimizers["discriminator"].step()
            if not shares_batch:
                fake = generator(torch.randn(BATCH, 4))
            optimizers["generator"].zero_grad()
            generator_loss = binary_cross_entropy_with_logits(discriminator(fake), ones)
            generator_loss.backward()
            optimizers["generator"].step()
            on_loss((generator_loss if whose == "generator" else real_loss + fake_loss).detach())


shape("GAN, generator")(lambda watch: train_gan(watch, "generator", shares_batch=True))
shape("GAN, discriminator")(lambda watch: train_gan(watch, "discriminator", shares_batch=False))


@shape("WGAN with a gradient penalty")
def train_wgan(watch: Watch) -> None:
    critic = mlp(2, 32, 32, 1)

    def loss() -> Tensor:
        real, fake = circle(), torch.randn(BATCH, 2)
        between = (real + torch.rand(BATCH, 1) * (fake - real)).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        return critic(fake).mean() - critic(real).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()

    fit(watch, critic, loss)


@shape("actor and critic in one model")
def train_actor_critic(watch: Watch) -> None:
    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.actor, self.critic = mlp(4, 32, 32), nn.Linear(32, 2), nn.Linear(32, 1)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            hidden = self.body(x).tanh()
            return self.actor(hidden), self.critic(hidden).squeeze(-1)

    agent = Agent()

    def loss() -> Tensor:
        x = torch.randn(BATCH, 4)
        logits, value = agent(x)
        policy = torch.distributions.Categorical(logits=logits)
        action = policy.sample()
        reward = (action == (x[:, 0] > 0)).float() * 2 - 1
        advantage = reward - value.detach()
        return (
            -(policy.log_prob(action) * advantage).mean()
            + 0.5 * mse_loss(value, reward)
            - 0.01 * policy.entropy().mean()
        )

    fit(watch, agent, loss)


@shape("critic of growing returns")
def train_critic(watch: Watch) -> None:
    critic = mlp(4, 32, 1)
    seen = [0]

    def loss() -> Tensor:
        seen[0] += 1
        x = torch.randn(BATCH, 4)
        return mse_loss(critic(x).squeeze(-1), seen[0] / 10 * x[:, 0])

    fit(watch, critic, loss)


@shape("DQN with a target network")
def train_dqn(watch: Watch) -> None:
    net = mlp(4, 32, 2)
    target = copy.deepcopy(net)

    def loss() -> Tensor:
        x, following = torch.randn(BATCH, 4), torch.randn(BATCH, 4)
        action = torch.randint(2, (BATCH, 1))
        with torch.no_grad():
            goal = (action[:, 0] == (x[:, 0] > 0)).float() + 0.9 * target(following).amax(1)
        return smooth_l1_loss(net(x).gather(1, action).squeeze(1), goal)

    def copy_weights(step: int) -> None:
        if step % 10 == 9:
            target.load_state_dict(net.state_dict())

    fit(watch, net, loss, each=copy_weights)


@shape("PPO, four epochs to a batch")
def train_ppo(watch: Watch) -> None:
    actor = mlp(4, 32, 2)
    stored: dict[str, Tensor] = {}

    def loss() -> Tensor:
        if not stored or torch.rand(()) < 0.25:
            x = torch.randn(BATCH, 4)
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=actor(x))
            action = policy.sample()
            advantage = (action == (x[:, 0] > 0)).float() - 0.5
            stored.update(x=x, action=action, advantage=advantage, old=policy.log_prob(action))
        policy = torch.distributions.Categorical(logits=actor(stored["x"]))
        ratio = (policy.log_prob(stored["action"]) - stored["old"]).exp()
        gain = torch.minimum(ratio * stored["advantage"], ratio.clamp(0.8, 1.2) * stored["advantage"])
        return -gain.mean()

    fit(watch, actor, loss)


# --- generative models ---


@shape("autoencoder")
def train_autoencoder(watch: Watch) -> None:
    model = mlp(64, 32, 8, 32, 64)
    basis = torch.randn(4, 64)

    def loss() -> Tensor:
        x = torch.randn(BATCH, 4) @ basis
        return mse_loss(model(x), x)

    fit(watch, model, loss)


@shape("VAE whose KL term grows")
def train_vae(watch: Watch) -> None:
    class VAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = mlp(64, 32, 16), mlp(8, 32, 64)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            mean, log_variance = self.encoder(x).chunk(2, 1)
            z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
            return self.decoder(z), mean, log_variance

    model, basis, seen = VAE(), torch.randn(4, 64), [0]

    def loss() -> Tensor:
        seen[0] += 1
        x = torch.randn(BATCH, 4) @ basis
        y, mean, log_variance = model(x)
        kl = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        return mse_loss(y, x) + min(1.0, seen[0] / STEPS) * kl

    fit(watch, model, loss)


@shape("VQ-VAE")
def train_vq_vae(watch: Watch) -> None:
    class VQ(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder, self.book = mlp(64, 32, 8), mlp(8, 32, 64), nn.Embedding(16, 8)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            z = self.encoder(x)
            nearest = self.book(torch.cdist(z, self.book.weight).argmin(1))
            return self.decoder(z + (nearest - z).detach()), z, nearest

    model, basis = VQ(), torch.randn(4, 64)

    def loss() -> Tensor:
        x = torch.randn(BATCH, 4) @ basis
        y, z, nearest = model(x)
        return mse_loss(y, x) + mse_loss(nearest, z.detach()) + 0.25 * mse_loss(z, nearest.detach())

    fit(watch, model, loss)


class UNet(nn.Module):
    """A small U-Net with residual blocks, a time embedding and skips by concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Linear(1, 8)
        self.start = nn.Conv2d(1, 8, 3, padding=1)
        self.down, self.middle = nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.end = nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, x: Tensor, time: Tensor) -> Any:
        high = self.start(x) + self.time(time)[:, :, None, None]
        low = self.down(high.relu())
        low = low + self.middle(low.relu())
        return self.end(torch.cat([high, self.up(low)], 1))


@shape("diffusion with a U-Net")
def train_diffusion(watch: Watch) -> None:
    model = UNet()

    def loss() -> Tensor:
        x, noise, time = images()[0], torch.randn(BATCH, 1, 16, 16), torch.rand(BATCH, 1)
        mixed = (1 - time[..., None, None]).sqrt() * x + time[..., None, None].sqrt() * noise
        return mse_loss(model(mixed, time), noise)

    fit(watch, model, loss, steps=60)


@shape("flow whose loss is negative")
def train_flow(watch: Watch) -> None:
    class Coupling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(1, 16, 2)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            scale, shift = self.net(x[:, :1]).tanh().chunk(2, 1)
            return torch.cat([x[:, 1:] * scale.exp() + shift, x[:, :1]], 1), scale.squeeze(1)

    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Coupling() for _ in range(4)])

        def forward(self, x: Tensor) -> Tensor:
            total = torch.zeros(len(x))
            for layer in self.layers:
                x, log_scale = layer(x)
                total = total + log_scale
            return 0.5 * x.square().sum(1) - total

    model = Flow()
    fit(watch, model, lambda: model(0.1 * circle()).mean() - 3)


@shape("one image from fixed noise")
def train_image_prior(watch: Watch) -> None:
    model = nn.Sequential(
        nn.Conv2d(4, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 1, 3, padding=1),
    )  # fmt: skip
    noise, image = torch.randn(1, 4, 16, 16), images()[0][:1]
    fit(watch, model, lambda: mse_loss(model(noise), image))


# --- self-supervision ---


@shape("BYOL")
def train_byol(watch: Watch) -> None:
    class BYOL(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online = mlp(WIDTH, 32, 16)
            self.target = copy.deepcopy(self.online)
            self.predictor = mlp(16, 32, 16)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            with torch.no_grad():
                target = self.target(x + 0.1 * torch.randn_like(x))
            return self.predictor(self.online(x + 0.1 * torch.randn_like(x))), target

    model = BYOL()
    optimizer = torch.optim.Adam([*model.online.parameters(), *model.predictor.parameters()], 1e-3)

    def loss() -> Tensor:
        prediction, target = model(points()[0])
        return (2 - 2 * cosine_similarity(prediction, target)).mean()

    fit(watch, model, loss, optimizer, each=lambda step: follow(model.target, model.online, 0.01))


@shape("MoCo with a queue")
def train_moco(watch: Watch) -> None:
    model = mlp(WIDTH, 32, 16)
    slow = copy.deepcopy(model).requires_grad_(False)
    queue = [normalize(torch.randn(64, 16), dim=1)]

    def loss() -> Tensor:
        x, _ = points()
        query = normalize(model(x + 0.1 * torch.randn_like(x)), dim=1)
        follow(slow, model, 0.01)
        with torch.no_grad():
            key = normalize(slow(x + 0.1 * torch.randn_like(x)), dim=1)
        logits = torch.cat([(query * key).sum(1, keepdim=True), query @ queue[0].T], 1) / 0.1
        queue[0] = torch.cat([key, queue[0]])[:64]
        return cross_entropy(logits, torch.zeros(BATCH, dtype=torch.long))

    fit(watch, model, loss)


@shape("SimCLR, two views in two passes")
def train_simclr(watch: Watch) -> None:
    model = mlp(WIDTH, 32, 16)

    def loss() -> Tensor:
        x, _ = points()
        first, second = (normalize(model(x + 0.2 * torch.randn_like(x)), dim=1) for _ in range(2))
        return cross_entropy(first @ second.T / 0.1, torch.arange(BATCH))

    fit(watch, model, loss)


@shape("mean teacher")
def train_mean_teacher(watch: Watch) -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.student = residual_net()
            self.teacher = copy.deepcopy(self.student)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            with torch.no_grad():
                goal = self.teacher(x + 0.1 * torch.randn_like(x))
            return self.student(x), goal

    model = Pair()

    def loss() -> Tensor:
        x, y = points()
        logits, goal = model(x)
        return cross_entropy(logits, y) + 0.1 * mse_loss(logits, goal)

    fit(watch, model, loss, adam(model.student), each=lambda step: follow(model.teacher, model.student, 0.05))


@shape("masked language model")
def train_masked(watch: Watch) -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.positions = nn.Embedding(SYMBOLS + 1, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.ModuleList([nn.Sequential(Attention(causal=False), Block()) for _ in range(2)])
            self.head = nn.Linear(WIDTH, SYMBOLS)

        def forward(self, x: Tensor) -> Any:
            x = self.table(x) + self.positions.weight
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    model = Masked()

    def loss() -> Tensor:
        x = symbols()[:, :-1]
        is_masked = torch.rand(x.shape) < 0.3
        logits = model(x.masked_fill(is_masked, SYMBOLS))
        return cross_entropy(logits.transpose(1, 2), x.masked_fill(~is_masked, -100))

    fit(watch, model, loss)


# --- learning to learn, penalties, gradients that are read ---


@shape("MAML")
def train_maml(watch: Watch) -> None:
    model = mlp(1, 32, 32, 1)
    optimizer = adam(model)

    def task_loss(parameters: Any, phase: Tensor) -> Tensor:
        x = 6 * torch.rand(BATCH, 1) - 3
        y: Tensor = torch.func.functional_call(model, parameters, (x,))
        return mse_loss(y, (x + phase).sin())

    def loss() -> Tensor:
        losses = []
        for _ in range(2):
            phase = math.pi * torch.rand(())
            parameters = dict(model.named_parameters())
            grads = torch.autograd.grad(task_loss(parameters, phase), list(parameters.values()), create_graph=True)
            fast = {name: p - 0.05 * g for (name, p), g in zip(parameters.items(), grads, strict=True)}
            losses.append(task_loss(fast, phase))
        return torch.stack(losses).mean()

    fit(watch, model, loss, optimizer, late_zero=optimizer.zero_grad)


@shape("gradients read before zero_grad")
def train_with_logged_gradients(watch: Watch) -> None:
    model = residual_net()
    optimizer = adam(model)

    def loss() -> Tensor:
        value = class_loss(model)()
        torch.autograd.grad(value, list(model.parameters()), retain_graph=True)
        return value

    fit(watch, model, loss, optimizer, late_zero=optimizer.zero_grad)


@shape("penalty on the gradients of weights")
def train_with_penalty(watch: Watch) -> None:
    model = residual_net()
    optimizer = adam(model)

    def loss() -> Tensor:
        value = class_loss(model)()
        grads = torch.autograd.grad(value, list(model.parameters()), create_graph=True)
        return value + 0.01 * torch.stack([grad.square().sum() for grad in grads]).sum()

    fit(watch, model, loss, optimizer, late_zero=partial(optimizer.zero_grad, set_to_none=False))


@shape("SAM")
def train_sam(watch: Watch) -> None:
    model = residual_net()
    optimizer = adam(model)
    with watch(Watched(model, optimizer)) as on_loss:
        for _ in range(STEPS):
            x, y = points()
            loss = cross_entropy(model(x), y)
            loss.backward()
            with torch.no_grad():
                moves = [
                    0.05 * normalize(p.grad.flatten(), dim=0).view_as(p)
                    for p in model.parameters()
                    if p.grad is not None
                ]
                for p, move in zip(model.parameters(), moves, strict=True):
                    p.add_(move)
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            with torch.no_grad():
                for p, move in zip(model.parameters(), moves, strict=True):
                    p.sub_(move)
            optimizer.step()
            optimizer.zero_grad()
            on_loss(loss.detach())


@shape("a closure, as Lightning steps")
def train_by_closure(watch: Watch) -> None:
    model = residual_net()
    fit_by_closure(watch, model, class_loss(model), adam(model), STEPS)


@shape("LBFGS on all of the data")
def train_by_lbfgs(watch: Watch) -> None:
    model = mlp(WIDTH, 16, CLASSES)
    x, y = points()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)
    fit_by_closure(watch, model, class_loss(model, lambda: (x, y)), optimizer, 30)


# --- architectures ---


@shape("LSTM")
def train_lstm(watch: Watch) -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.lstm = nn.Embedding(SYMBOLS, WIDTH), nn.LSTM(WIDTH, WIDTH, 2, batch_first=True)
            self.head = nn.Linear(WIDTH, SYMBOLS)

        def forward(self, x: Tensor) -> Any:
            return self.head(self.lstm(self.table(x))[0])

    model = Reader()
    fit(watch, model, lambda: next_symbol_loss(model), adam(model, 5e-3))


def convnet(norm: Callable[[int], nn.Module], depth: int = 4) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Conv2d(1, 16, 3, padding=1), norm(16), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Conv2d(16, 16, 3, padding=1), norm(16), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, CLASSES))


def staged(blocks: Iterable[nn.Module], width: int) -> nn.Sequential:
    """A convnet of blocks that begin with 8 features and end with `width`."""
    stem, head = nn.Conv2d(1, 8, 3, padding=1), nn.Linear(width, CLASSES)
    return nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)


@shape("plain convnet")
def train_convnet(watch: Watch) -> None:
    model = convnet(lambda width: nn.Identity())
    fit(watch, model, class_loss(model, images), adam(model, 3e-3), steps=60)


@shape("plain convnet with batch norm")
def train_normed_convnet(watch: Watch) -> None:
    model = convnet(nn.BatchNorm2d, 6)
    fit(watch, model, class_loss(model, images), steps=60)


@shape("VGG")
def train_vgg(watch: Watch) -> None:
    layers: list[nn.Module] = []
    for before, after in ((1, 8), (8, 16), (16, 32)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    fit(watch, model, class_loss(model, images), adam(model, 2e-3))


@shape("ResNet whose stages halve the map")
def train_resnet(watch: Watch) -> None:
    class Stage(nn.Module):
        def __init__(self, before: int, after: int) -> None:
            super().__init__()
            stride = 1 if before == after else 2
            self.conv = nn.Sequential(
                nn.Conv2d(before, after, 3, stride, 1),
                nn.BatchNorm2d(after),
                nn.ReLU(),
                nn.Conv2d(after, after, 3, 1, 1),
            )
            self.skip = nn.Identity() if before == after else nn.Conv2d(before, after, 1, stride)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.skip(x) + self.conv(x)
            return y.relu()

    stages = [Stage(8, 8), Stage(8, 8), Stage(8, 16), Stage(16, 16), Stage(16, 32), Stage(32, 32)]
    model = staged(stages, 32)
    fit(watch, model, class_loss(model, images), steps=60)


@shape("inverted residuals, some without a skip")
def train_mobilenet(watch: Watch) -> None:
    class Inverted(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.conv = nn.Sequential(
                nn.Conv2d(before, 32, 1), nn.BatchNorm2d(32), nn.ReLU6(), nn.Conv2d(32, 32, 3, stride, 1, groups=32),
                nn.BatchNorm2d(32), nn.ReLU6(), nn.Conv2d(32, after, 1), nn.BatchNorm2d(after),
            )  # fmt: skip
            self.has_skip = before == after and stride == 1

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.conv(x)
            return x + y if self.has_skip else y

    blocks = [Inverted(*sizes) for sizes in ((8, 8, 1), (8, 8, 1), (8, 8, 2), (8, 8, 1), (8, 16, 1), (16, 16, 1))]
    model = staged(blocks, 16)
    fit(watch, model, class_loss(model, images), adam(model, 3e-3), steps=60)


@shape("vision transformer")
def train_vit(watch: Watch) -> None:
    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches, self.token = nn.Conv2d(1, WIDTH, 4, 4), nn.Parameter(torch.zeros(1, 1, WIDTH))
            self.positions = nn.Parameter(0.02 * torch.randn(17, WIDTH))
            self.blocks = nn.Sequential(*(nn.Sequential(Attention(causal=False), Block()) for _ in range(3)))
            self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES))

        def forward(self, x: Tensor) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
            return self.head(self.blocks(x)[:, 0])

    model = ViT()
    fit(watch, model, class_loss(model, images))


@shape("plain MLP, six layers")
def train_mlp(watch: Watch) -> None:
    model = mlp(WIDTH, 64, 64, 64, 64, 64, CLASSES)
    fit(watch, model, class_loss(model), steps=200)


@shape("torch's encoder and decoder")
def train_translator(watch: Watch) -> None:
    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(SYMBOLS, WIDTH), nn.Linear(WIDTH, SYMBOLS)
            self.net = nn.Transformer(WIDTH, 2, 1, 1, 32, dropout=0.1, batch_first=True)
            self.positions = nn.Embedding(LENGTH, WIDTH)

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            mask = self.net.generate_square_subsequent_mask(y.shape[1])
            embedded = [self.table(part) + self.positions.weight[: part.shape[1]] for part in (x, y)]
            out: Tensor = self.head(self.net(*embedded, tgt_mask=mask))
            return out

    model = Translator()

    def loss() -> Tensor:
        x = symbols()
        logits = model(x[:, :-1], x[:, :-1])
        return cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten(), label_smoothing=0.1)

    fit(watch, model, loss, adam(model, 2e-3))


@shape("graph network on one graph")
def train_graph(watch: Watch) -> None:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(WIDTH, 16), nn.Linear(16, CLASSES)

        def forward(self, x: Tensor, edges: Tensor) -> Any:
            return edges @ self.second((edges @ self.first(x)).relu())

    model = Graph()
    x, y = points()
    edges = (torch.rand(BATCH, BATCH) < 0.1).float() + torch.eye(BATCH)
    edges /= edges.sum(1, keepdim=True)
    fit(watch, model, lambda: cross_entropy(model(x, edges), y), adam(model, 1e-2))


@shape("sines on fixed coordinates")
def train_coordinates(watch: Watch) -> None:
    class Sine(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (5 * x).sin()

    model = mlp(2, 32, 32, 1, activation=Sine)
    x = torch.cartesian_prod(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16))
    y = (3 * x[:, :1]).sin() * (2 * x[:, 1:]).cos()
    fit(watch, model, lambda: mse_loss(model(x), y))


# --- language models and their optimisers ---


@shape("GPT-2 in warm-up, 60 steps")
def train_gpt(watch: Watch) -> None:
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 500))
    fit(watch, model, lambda: next_symbol_loss(model), optimizer, steps=60, each=lambda step: schedule.step())


@shape("GPT-2, rate up and down")
def train_gpt_long(watch: Watch) -> None:
    model = GPT(2)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=200)
    fit(watch, model, lambda: next_symbol_loss(model), optimizer, steps=200, each=lambda step: schedule.step())


class Muon(torch.optim.Optimizer):
    """Momentum made orthogonal by five Newton-Schulz steps (Jordan 2024)."""

    def __init__(self, parameters: Any, lr: float = 0.02) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                momentum.lerp_(p.grad, 0.05)
                x = momentum / (momentum.norm() + 1e-7)
                for _ in range(5):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
                p.sub_(x, alpha=group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def train_with_muon(watch: Watch, whose: int) -> None:
    model = GPT(2)
    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "blocks" in name]
    ids = {id(p) for p in inner}
    others = [p for p in model.parameters() if id(p) not in ids]
    optimizers = [Muon(inner), torch.optim.AdamW(others, 3e-3)]
    with watch(Watched(model, optimizers[whose])) as on_loss:
        for _ in range(STEPS):
            loss = next_symbol_loss(model)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
            on_loss(loss.detach())


shape("Muon and AdamW, Muon watched")(lambda watch: train_with_muon(watch, 0))
shape("Muon and AdamW, AdamW watched")(lambda watch: train_with_muon(watch, 1))


@shape("optimiser in the backward pass")
def train_in_backward(watch: Watch) -> None:
    model = residual_net()
    for p in model.parameters():
        inner = torch.optim.Adam([p], 1e-3)

        def update(parameter: Tensor, inner: Any = inner) -> None:
            inner.step()
            inner.zero_grad()

        p.register_post_accumulate_grad_hook(update)
    with watch(Watched(model, None)) as on_loss:
        for _ in range(STEPS):
            x, y = points()
            loss = cross_entropy(model(x), y)
            loss.backward()
            on_loss(loss.detach())


@shape("weights in bfloat16")
def train_in_bfloat16(watch: Watch) -> None:
    model = residual_net().to(torch.bfloat16)

    def loss() -> Tensor:
        x, y = points()
        return cross_entropy(model(x.to(torch.bfloat16)).float(), y)

    fit(watch, model, loss, adam(model, 2e-3))


@shape("autocast to bfloat16")
def train_with_autocast(watch: Watch) -> None:
    model = residual_net()

    def loss() -> Tensor:
        x, y = points()
        with torch.autocast("cpu", torch.bfloat16):
            return cross_entropy(model(x), y)

    fit(watch, model, loss)


class LoRA(nn.Module):
    """A frozen matrix and a trained product of two thin ones, of which the second starts at zero."""

    def __init__(self, inner: nn.Linear) -> None:
        super().__init__()
        self.inner = inner.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(4, inner.in_features) / math.sqrt(inner.in_features))
        self.b = nn.Parameter(torch.zeros(inner.out_features, 4))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x)
        return y + linear(linear(x, self.a), self.b)


@shape("LoRA")
def train_lora(watch: Watch) -> None:
    model = GPT(2)
    pretrain(model, lambda: next_symbol_loss(model), 60)
    model.requires_grad_(False)
    for block in model.blocks:
        attention: Any = block[0]  # type: ignore[index]
        attention.qkv, attention.out = LoRA(attention.qkv), LoRA(attention.out)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 2e-3)
    fit(watch, model, lambda: next_symbol_loss(lambda x: model((x * 3) % SYMBOLS)), optimizer)


@shape("mixture of experts")
def train_experts(watch: Watch) -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router = nn.Linear(WIDTH, 4, bias=False)
            self.experts = nn.ModuleList([mlp(WIDTH, WIDTH, WIDTH) for _ in range(4)])
            self.balance = torch.zeros(())

        def forward(self, x: Tensor) -> Tensor:
            share = self.router(x).softmax(-1)
            gate, chosen = share.max(-1)
            out = torch.zeros_like(x)
            for index, expert in enumerate(self.experts):
                rows = (chosen == index).nonzero().squeeze(-1)
                if len(rows):
                    out = out.index_add(0, rows, gate[rows, None] * expert(x[rows]))
            self.balance = 4 * (one_hot(chosen, 4).float().mean(0) * share.mean(0)).sum()
            return x + out

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.blocks = nn.Linear(WIDTH, WIDTH), nn.ModuleList([Experts() for _ in range(2)])
            self.head = nn.Linear(WIDTH, CLASSES)

        def forward(self, x: Tensor) -> Any:
            x = self.stem(x)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    model = Model()

    def loss() -> Tensor:
        x, y = points()
        logits = model(x)
        balance = torch.stack([block.balance for block in model.blocks]).sum()  # type: ignore[misc]
        return cross_entropy(logits, y) + 0.01 * balance

    fit(watch, model, loss, adam(model, 2e-3))


# --- classes, distances, teachers ---


@shape("CLIP")
def train_clip(watch: Watch) -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = mlp(WIDTH, 32, 16), mlp(WIDTH, 32, 16)
            self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            similarity = normalize(self.first(x), dim=1) @ normalize(self.second(y), dim=1).T
            return self.log_scale.exp() * similarity

    model, turn = Pair(), torch.randn(WIDTH, WIDTH)

    def loss() -> Tensor:
        x = torch.randn(BATCH, WIDTH)
        logits, labels = model(x, x @ turn), torch.arange(BATCH)
        return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2

    fit(watch, model, loss)


@shape("triplets in three passes")
def train_triplets(watch: Watch) -> None:
    model = mlp(WIDTH, 32, 16)

    def loss() -> Tensor:
        x = torch.randn(BATCH, WIDTH)
        near, far = x + 0.1 * torch.randn_like(x), torch.randn_like(x)
        return nn.functional.triplet_margin_loss(model(x), model(near), model(far))

    fit(watch, model, loss)


@shape("distillation")
def train_student(watch: Watch) -> None:
    model, teacher = residual_net(2), mlp(WIDTH, 64, CLASSES).requires_grad_(False)

    def loss() -> Tensor:
        x, _ = points()
        return kl_div((model(x) / 2).log_softmax(-1), (4 * teacher(x) / 2).softmax(-1), reduction="batchmean")

    fit(watch, model, loss)


@shape("two tasks in turn on one body")
def train_two_tasks(watch: Watch) -> None:
    class Tasks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(WIDTH, WIDTH), Block(), Block())
            self.heads = nn.ModuleList([nn.Linear(WIDTH, CLASSES), nn.Linear(WIDTH, 1)])

        def forward(self, x: Tensor, task: int) -> Any:
            return self.heads[task](self.body(x))

    model, turn = Tasks(), [0]

    def loss() -> Tensor:
        turn[0] += 1
        x, y = points()
        if turn[0] % 2:
            return cross_entropy(model(x, 0), y)
        return mse_loss(model(x, 1), x[:, :1])

    fit(watch, model, loss)


@shape("a head on a frozen body")
def train_head(watch: Watch) -> None:
    model = nn.Sequential(mlp(WIDTH, 64, 64).requires_grad_(False), nn.Linear(64, CLASSES))
    fit(watch, model, class_loss(model), adam(model[1], 1e-2))


@shape("fine-tuning of a solved task")
def train_solved(watch: Watch) -> None:
    model = residual_net()
    x, y = points()
    loss = class_loss(model, lambda: (x, y))
    pretrain(model, loss, 100)
    fit(watch, model, loss, adam(model, 1e-4), steps=150)


@shape("small batches in bfloat16 with a model's own loss")
def train_with_own_loss(watch: Watch) -> None:
    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = residual_net()

        def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
            logits = self.net(x)
            return {"loss": cross_entropy(logits, labels), "logits": logits}

    model = WithLoss()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    with watch(Watched(model, optimizer)) as on_loss:
        for _ in range(STEPS):
            losses = []
            for _ in range(4):
                x, y = points()
                loss = model(x, y)["loss"] / 4
                loss.backward()
                losses.append(loss.detach())
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            on_loss(torch.stack(losses).sum())


@shape("power law over 5,000 steps")
def train_power_law(watch: Watch) -> None:
    """Least squares whose curvatures fall as a power of their number: gradient descent's loss does too."""
    model = nn.Linear(WIDTH, 1, bias=False)
    nn.init.zeros_(model.weight)
    sizes = torch.arange(1, WIDTH + 1).float().pow(-1.0)

    def loss() -> Tensor:
        x = torch.randn(BATCH, WIDTH) * sizes
        return mse_loss(model(x), x.sum(1, keepdim=True))

    fit(watch, model, loss, torch.optim.SGD(model.parameters(), 0.02), steps=5000)


# --- written last, after every threshold ---


@shape("mixed labels and stochastic depth")
def train_with_mixup(watch: Watch) -> None:
    class Sometimes(Block):
        def forward(self, x: Tensor) -> Tensor:
            return x if torch.rand(()) < 0.2 else super().forward(x)

    model = residual_net(4, Sometimes)

    def loss() -> Tensor:
        (x, y), share = points(), torch.rand(())
        order = torch.randperm(BATCH)
        logits = model(share * x + (1 - share) * x[order])
        return share * cross_entropy(logits, y) + (1 - share) * cross_entropy(logits, y[order])

    fit(watch, model, loss)


@shape("GRU with carried state")
def train_gru(watch: Watch) -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.gru = nn.Embedding(SYMBOLS, WIDTH), nn.GRU(WIDTH, WIDTH, batch_first=True)
            self.head = nn.Linear(WIDTH, SYMBOLS)

        def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
            out, state = self.gru(self.table(x), state)
            return self.head(out), state.detach()

    model, state = Reader(), [torch.zeros(1, BATCH, WIDTH)]

    def loss() -> Tensor:
        x = symbols()
        logits, state[0] = model(x[:, :-1], state[0])
        return cross_entropy(logits.transpose(1, 2), x[:, 1:])

    fit(watch, model, loss, adam(model, 5e-3))


@shape("rate that restarts")
def train_with_restarts(watch: Watch) -> None:
    model = residual_net()
    optimizer = torch.optim.SGD(model.parameters(), 0.3, momentum=0.9, nesterov=True, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 50)
    fit(watch, model, class_loss(model), optimizer, steps=150, each=lambda step: schedule.step())


@shape("quantised weights, straight through")
def train_quantised(watch: Watch) -> None:
    class Quantised(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            rounded = (self.weight * 16).round() / 16
            return linear(x, self.weight + (rounded - self.weight).detach(), self.bias)

    model = nn.Sequential(Quantised(WIDTH, 64), nn.ReLU(), Quantised(64, 64), nn.ReLU(), Quantised(64, CLASSES))

    def loss() -> Tensor:
        x, y = points()
        return cross_entropy(model(x), y, reduction="sum")

    fit(watch, model, loss)


@shape("pruned weights")
def train_pruned(watch: Watch) -> None:
    model = mlp(WIDTH, 64, 64, CLASSES)
    for module in model:
        if isinstance(module, nn.Linear):
            torch.nn.utils.prune.random_unstructured(module, "weight", 0.8)
    fit(watch, model, class_loss(model))


@shape("spectral and weight norm")
def train_normed_weights(watch: Watch) -> None:
    norm = torch.nn.utils.parametrizations
    layers = [norm.spectral_norm(nn.Linear(WIDTH, 64)), nn.ReLU(), norm.weight_norm(nn.Linear(64, CLASSES))]
    model = nn.Sequential(*layers)

    def loss() -> Tensor:
        x, y = points()
        return nn.functional.multi_margin_loss(model(x), y)

    fit(watch, model, loss)


@shape("ReZero")
def train_rezero(watch: Watch) -> None:
    class ReZero(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mlp, self.gate = mlp(WIDTH, WIDTH, WIDTH), nn.Parameter(torch.zeros(1))

        def forward(self, x: Tensor) -> Any:
            return x + self.gate * self.mlp(x)

    model = residual_net(8, ReZero)
    fit(watch, model, class_loss(model), adam(model, 3e-3))


@shape("heads along the way")
def train_early_exits(watch: Watch) -> None:
    class Exits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.blocks = nn.Linear(WIDTH, WIDTH), nn.ModuleList([Block() for _ in range(3)])
            self.heads = nn.ModuleList([nn.Linear(WIDTH, CLASSES) for _ in range(3)])

        def forward(self, x: Tensor) -> list[Tensor]:
            x, outputs = self.stem(x), []
            for block, head in zip(self.blocks, self.heads, strict=True):
                x = block(x)
                outputs.append(head(x))
            return outputs

    model = Exits()

    def loss() -> Tensor:
        x, y = points()
        return torch.stack([cross_entropy(logits, y) for logits in model(x)]).sum()

    fit(watch, model, loss)


@shape("physics from derivatives of the input")
def train_physics(watch: Watch) -> None:
    model = mlp(1, 32, 32, 1, activation=nn.Tanh)

    def loss() -> Tensor:
        x = torch.linspace(0, 2, BATCH)[:, None].requires_grad_()
        y = model(x)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return (slope + y).square().mean() + (model(torch.zeros(1, 1)) - 1).square().mean()

    fit(watch, model, loss)


@shape("mean and variance")
def train_variance(watch: Watch) -> None:
    model = mlp(4, 32, 2)

    def loss() -> Tensor:
        x = torch.randn(BATCH, 4)
        mean, log_variance = model(x).chunk(2, 1)
        return nn.functional.gaussian_nll_loss(mean, 0.1 * x[:, :1], log_variance.exp())

    fit(watch, model, loss, adam(model, 3e-3))


@shape("weights averaged between rounds")
def train_federated(watch: Watch) -> None:
    model = residual_net(2)
    start = copy.deepcopy(model.state_dict())

    def average(step: int) -> None:
        if step % 10 == 9:
            with torch.no_grad():
                for name, p in model.named_parameters():
                    p.lerp_(start[name], 0.3)
                    start[name] = p.clone()

    fit(watch, model, class_loss(model), each=average)


@shape("adversarial examples")
def train_against_attacks(watch: Watch) -> None:
    model = mlp(WIDTH, 64, 64, CLASSES)

    def loss() -> Tensor:
        x, y = points()
        x.requires_grad_()
        (slope,) = torch.autograd.grad(cross_entropy(model(x), y), x)
        return cross_entropy(model((x + 0.05 * slope.sign()).detach()), y)

    fit(watch, model, loss)


@shape("three losses, three backward passes")
def train_by_three_passes(watch: Watch) -> None:
    model = residual_net()
    optimizer = adam(model)
    with watch(Watched(model, optimizer)) as on_loss:
        for _ in range(STEPS):
            x, y = points()
            optimizer.zero_grad()
            logits = model(x)
            losses = [cross_entropy(logits, y), 1e-3 * logits.square().mean(), 1e-3 * logits.abs().mean()]
            for loss in losses:
                loss.backward(retain_graph=True)
            optimizer.step()
            on_loss(losses[0].detach())


@shape("margins on angles")
def train_angles(watch: Watch) -> None:
    class Angles(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.classes = mlp(WIDTH, 32, 16), nn.Parameter(torch.randn(CLASSES, 16))

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            cosines = linear(normalize(self.body(x), dim=1), normalize(self.classes, dim=1))
            return 16 * (cosines - 0.3 * one_hot(y, CLASSES))

    model = Angles()

    def loss() -> Tensor:
        x, y = points()
        return cross_entropy(model(x, y), y)

    fit(watch, model, loss)


@shape("a recurrent cell with a skip")
def train_recurrent_skip(watch: Watch) -> None:
    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.step, self.head = nn.Linear(4, WIDTH), mlp(2 * WIDTH, 32, WIDTH), nn.Linear(WIDTH, 4)

        def forward(self, x: Tensor) -> Any:
            e = self.enter(x)
            h = torch.zeros_like(e)
            for _ in range(6):
                h = h + self.step(torch.cat([h, e], 1))
            return self.head(h)

    model = Cell()

    def loss() -> Tensor:
        x = torch.randn(BATCH, 4)
        return mse_loss(model(x), x.flip(1).abs())

    fit(watch, model, loss)


@shape("rare labels, two logits")
def train_rare(watch: Watch) -> None:
    model = mlp(WIDTH, 32, 2)

    def loss() -> Tensor:
        x = torch.randn(BATCH, WIDTH)
        return cross_entropy(model(x), (x[:, 0] > 1.6).long(), weight=torch.tensor([1.0, 5.0]))

    fit(watch, model, loss, adam(model, 1e-4), steps=150)


@shape("language model from noise of one sample")
def train_one_sample(watch: Watch) -> None:
    model = GPT(2)
    fit(watch, model, lambda: next_symbol_loss(model, 1), torch.optim.SGD(model.parameters(), 0.1), steps=300)
