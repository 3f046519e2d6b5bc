"""How a token becomes a row of numbers: its id, the one-hot row of that id, and the row of the table it selects.

Legend: T tokens, V symbols of the vocabulary, D width.
"""

import torch
import torch.nn.functional as F
from torch import nn

from models.answers import Lookup
from models.instruments.lens import codes, pieces, symbols
from models.training import Snapshot
from models.training.modes import evaluating


def lookup(snapshot: Snapshot, *, text: str) -> Lookup:
    """The rows of a text's tokens on their way into the net. ValueError for a text that the task cannot read."""
    ids = codes(snapshot.cfg, text)
    embed = snapshot.model.embed
    assert isinstance(embed, nn.Embedding)
    x_T = torch.tensor(ids, device=embed.weight.device)
    with torch.no_grad(), evaluating(snapshot.model):
        rows_TD = embed(x_T)
        product_TD = F.one_hot(x_T, embed.num_embeddings).to(embed.weight) @ embed.weight
        enters_TD = snapshot.model.position(rows_TD[None])[0]
        added_TD = snapshot.model.position(torch.zeros_like(rows_TD)[None])[0]
    numbers = {"table": embed.weight, "enters": enters_TD, "position": added_TD[: len(ids) if added_TD.any() else 0]}
    return Lookup(
        tokens=tuple(pieces(snapshot.cfg, text)),
        ids=x_T.cpu().numpy(),
        names=tuple(symbols(snapshot.cfg)),
        apart=(product_TD - rows_TD).abs().max().item(),
        **{name: value.detach().float().cpu().numpy() for name, value in numbers.items()},
    )
