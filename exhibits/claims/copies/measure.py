"""How far the layers of a new nn.TransformerEncoder are apart."""

from torch import nn

from exhibits.claims.copies.answer import COPIES, Copies
from models.instruments.facts import encoder_layer, initialise_layers


def copies() -> Copies:
    """Smallest difference between layers of a new nn.TransformerEncoder, and of one with independently drawn layers."""
    encoder = nn.TransformerEncoder(encoder_layer(norm_first=True), 6, enable_nested_tensor=False)
    copied = _smallest_difference(encoder)
    initialise_layers(encoder)
    return Copies(("nn.TransformerEncoder", "each layer built anew"), (copied, _smallest_difference(encoder)))


def _smallest_difference(encoder: nn.TransformerEncoder) -> float:
    """Smallest RMS difference between the first feed-forward matrix of the first layer and of any other layer."""
    first_matrix, *other_matrices = [layer.linear1.weight for layer in encoder.layers]
    return float(min((first_matrix - other).square().mean().sqrt().item() for other in other_matrices))


MEASURES = {COPIES: copies}
