"""Sites in other people's models, beside the additions that autograd keeps."""

import pytest
import torch
from torch import Tensor, nn

from tests.addnorm.families import LIBRARIES, addition_counts, additions_of
from tests.addnorm.loops import net

SIX = [
    ("transformers", "GPT2LMHeadModel"), ("transformers", "T5ForConditionalGeneration"), ("transformers", "ViTModel"),
    ("timm", "resnet18"), ("torchvision", "mobilenet_v2"), ("x_transformers", "sandwich norm"),
]  # fmt: skip


@pytest.mark.parametrize(("library", "name"), SIX)
def test_the_sites_of_a_family_are_the_additions_in_autograds_graph(library: str, name: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed", exc_type=ImportError)
    sites, additions = addition_counts(*LIBRARIES[library][0](name))
    assert sites == additions > 1


@pytest.mark.skipif(
    not hasattr(torch.ones(1, requires_grad=True).sum().grad_fn, "_input_metadata"), reason="before torch 2.5"
)
def test_autograds_graph_counts_residual_additions_and_no_others() -> None:
    x = torch.randn(2, 4)
    assert additions_of([net(5)(x)]) == 5
    one, two = nn.Linear(4, 4), nn.Linear(4, 4)

    def count(y: Tensor) -> int:
        return additions_of([y])

    assert count(one(x) + two(x)) == 0, "a sum of two projections of what is given"
    h = one(x)
    assert count(h + two(h)) == 1
    assert count(2 * h + two(h).relu()) == 1
    assert count(h.relu() + two(h)) == 0, "what the skip changes is no skip"
    assert count(h + torch.ones(4)) == 0
