"""A residual MLP on handwritten digits, in a training loop of its own. About 5 s: `python -m examples.digits`."""

import torch
from torch import Tensor, nn

from addnorm import watch
from examples.data import digits


class Block(nn.Module):
    """x + W2 relu(W1 N(x))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.branch = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.branch(self.norm(x))


def main(path: str = "recordings/digits.jsonl", steps: int = 300) -> None:
    """Trains for `steps` steps and records to `path`."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, y = digits()
    model = nn.Sequential(nn.Linear(64, 64), *(Block(64) for _ in range(12)), nn.LayerNorm(64), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    with watch(model, path, optimizer=optimizer, meta={"task": "digits"}) as recorder:
        for _ in range(steps):
            batch = torch.randint(len(x), (128,))
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorder.loss(loss)
    print(f"loss {loss.item():.3f}; python -m addnorm show {recorder.path}")


if __name__ == "__main__":
    main()
