"""A decoder from x-transformers on Moby-Dick. Half a minute: `python -m examples.x_transformer`.

Needs `pip install x-transformers`.
"""

import torch
from torch import nn
from x_transformers import Decoder, TransformerWrapper

from addnorm import watch
from examples.data import book, windows


def main(path: str = "recordings/x-transformer.jsonl", steps: int = 150) -> None:
    """Trains for `steps` steps and records to `path`."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    text, symbols = book()
    layers = Decoder(dim=64, depth=6, heads=4, attn_dim_head=16, rotary_pos_emb=True, use_rmsnorm=True)
    model = TransformerWrapper(num_tokens=symbols, max_seq_len=64, attn_layers=layers)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    with watch(model, path, optimizer=optimizer, meta={"task": "book"}) as recorder:
        for _ in range(steps):
            pieces = windows(text, 16, 65)
            logits = model(pieces[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorder.loss(loss)
    print(f"loss {loss.item():.3f}; python -m addnorm show {recorder.path}")


if __name__ == "__main__":
    main()
