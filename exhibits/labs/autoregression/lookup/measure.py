"""Embedding of a text: token ids, and the rows of the table that they select.

Legend: T tokens, D width.
"""

import torch
import torch.nn.functional as F
from torch import nn

from exhibits.labs.autoregression.lookup.answer import LOOKUP, Lookup
from models.instruments import on_snapshot
from models.instruments.lens import split_tokens, token_ids, vocabulary
from models.training import Snapshot
from models.training.modes import eval_mode


def lookup(snapshot: Snapshot, *, text: str) -> Lookup:
    """Embedding rows of a text's tokens, and their positions. ValueError for a text that the task cannot read."""
    ids = token_ids(snapshot.cfg, text)
    embed = snapshot.model.embed
    assert isinstance(embed, nn.Embedding)
    x_T = torch.tensor(ids, device=embed.weight.device)
    with torch.no_grad(), eval_mode(snapshot.model):
        rows_TD = embed(x_T)
        one_hot_TD = F.one_hot(x_T, embed.num_embeddings).to(embed.weight) @ embed.weight
        enters_TD = snapshot.model.position(rows_TD[None])[0]
        position_TD = snapshot.model.position(torch.zeros_like(rows_TD)[None])[0]
    if not position_TD.any():
        position_TD = position_TD[:0]
    arrays = {"table": embed.weight, "enters": enters_TD, "position": position_TD}
    return Lookup(
        tokens=tuple(split_tokens(snapshot.cfg, text)),
        ids=x_T.cpu().numpy(),
        names=tuple(vocabulary(snapshot.cfg)),
        apart=(one_hot_TD - rows_TD).abs().max().item(),
        **{name: array.detach().float().cpu().numpy() for name, array in arrays.items()},
    )


MEASURES = {LOOKUP: on_snapshot(lookup)}
NETS = ("transformer",)
EXAMPLES = {LOOKUP: {"text": "Call me Ish"}}
