"""Placements: which slots of the one equation hold a norm.

y = N_add( skip(x) + scale * N_out( F( c_in * N_in(x) ) ) ),   N_mid inside F
"""

from dataclasses import dataclass

from models.spec.knob import VocabularyChoice, describe


@dataclass(frozen=True)
class Placement(VocabularyChoice):
    """The slots that hold a norm; `final_norm` is the one before the output head."""

    formula: str
    source: str
    norm_in: bool = False
    norm_mid: bool = False
    norm_out: bool = False
    norm_add: bool = False
    final_norm: bool = False


PLACEMENTS = {
    "none": Placement(r"x+F(x)", "He 2015, 1512.03385, whose branches hold batch norm"),
    "post-norm": Placement(r"N(x+F(x))", "Vaswani 2017, 1706.03762", norm_add=True),
    "pre-norm": Placement(r"x+F(N(x))", "Xiong 2020, 2002.04745", norm_in=True, final_norm=True),
    "sandwich": Placement(
        r"x+N(F(N(x)))",
        "Ding 2021, 2105.13290; Kim 2025 (Peri-LN), 2502.02732",
        norm_in=True,
        norm_out=True,
        final_norm=True,
    ),
    "res-post-norm": Placement(
        r"x+N(F(x))", "Liu 2021 (Swin v2), 2111.09883; OLMo 2, 2501.00656", norm_out=True, final_norm=True
    ),
    "pre+post": Placement(r"N(x+F(N(x)))", "Chen & Wei 2026 (Keel), 2601.19895", norm_in=True, norm_add=True),
    "mid-norm": Placement(
        r"x+W_2\,\phi(N(W_1x))",
        "Ioffe & Szegedy 2015, 1502.03167; of Sub-LN (Wang 2022, 2210.06423), which norms every branch's input and "
        "stands after the activation, only the norm in attention",
        norm_mid=True,
    ),
}

describe(placements=PLACEMENTS)
