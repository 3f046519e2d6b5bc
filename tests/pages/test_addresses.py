"""Addresses as the app writes them: their keys and words open what they say."""

from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from tests.app_page import address, by_link

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

# A page, its query, and by their keys what tables and nets then hold, which the page does not write again.
# fmt: off
OPENS: list[tuple[str, str, dict[str, Any]]] = [
    ("normalization", "example=six-tokens-and-two-pads&gain=2.5&bias=-1&eps=1&padding=2&leave=true&unbiased=true&token=4&mode=eval&shift=0.5&part=what-scale-costs&ratio=10", {}),
    ("normalization", "part=what-scale-costs&feature=1&far=30", {}),
    ("normalization", "part=what-scale-costs&times=30", {}),
    ("normalization", "part=a-batch-s-statistics&batch=3&seed=7", {}),
    ("normalization", "part=trained-nets&digits=50&rate=0.02&level=false", {}),
    ("normalization", "example=salary-and-bonus&method=group-norm&table=1%2C2%2C3%2C4%3B-5%2C6%2C7.125%2C1e-07&groups=2", {'normalization_good': [[1.0, 2.0, 3.0, 4.0], [-5.0, 6.0, 7.125, 1e-07]]}),
    ("normalization", "method=instance-norm&sequences=3", {}),
    ("normalization", "method=dynamic-tanh&alpha=1.2", {}),
    ("attention", "example=the-same-with-a-causal-mask&x=1%2C0%2C0%2C0%3B0%2C2%2C0%2C0%3B1%2C1%2C1%2C1%3B0%2C0%2C0%2C0.5&wv=1%2C0%3B0%2C1%3B1%2C1%3B0%2C0&causal=false&scaled=false&padding=1%2C3&token=2", {'attention_head_x_good': [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.5]], 'attention_head_w_v_good': [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]}),
    ("attention", "example=five-random-tokens-d-k-2&closer=how-the-matrices-learn&wish=1&step-size=0.25&steps-down=7", {}),
    ("attention", "part=softmax-and-d-k&row=the-same-over-4&scores=1%2C2&kind=weights&divisor=4&weigh=true&values=1%2C2%3B3%2C4", {'attention_rows_row_good': [[1.0, 2.0]], 'attention_rows_values_good': [[1.0, 2.0], [3.0, 4.0]]}),
    ("attention", "part=softmax-and-d-k&d_k=16&draws=7", {}),
    ("attention", "tokens=4&d_model=8&heads=12&d_v=16&others=20", {}),
    ("attention", "part=positions&table=four-features&encoding=learned&positions=12&features=6&seed=3", {}),
    ("attention", "part=positions-in-trained-nets&depth=1&steps=20&position=learned", {}),
    ("attention", "part=without-feed-forward&task=book&blocks=1&updates-book=20", {}),
    ("attention", "part=encoder-and-decoder&pair-task=sort&pair-blocks=2&pair-steps=40&pair-seed=3", {}),
    ("attention", "part=recurrence-or-attention&length=3", {}),
    ("gradients", "example=a-factor-above-1&factor=-0.5&length=12&input=2&target=-0.5&phi=tanh&layer=3&lr=0.25&activations=sigmoid%2Crelu&z=-1.5&spread=2&depth=3&residual=true&activation=tanh&init=xavier&norm=post-norm&layers=2&seeds=6", {}),
    ("gradients", "depth=2&mode=factors-of-my-own&factors=2%2C3%2C-4&activations=", {'gradients_own_good': [[2.0, 3.0, -4.0]]}),
    ("residual", "example=pre-norm&table=1%2C2%3B3%2C5%3B0%2C0.5%3B1%2C1&placement=sandwich&skip=1.5&relu=true&size=0.5&seed=9&weight=3.5&repeats=3&dlcl=0.25&depth=2&net=norm-no-skip", {'residual_token_good': [[1.0, 2.0], [3.0, 5.0], [0.0, 0.5], [1.0, 1.0]]}),
    ("autoregression", "example=stop-at-a-full-stop-or-at-the-length&depth-book=1&steps-book=50&arrangement=post-norm&prompt-book=A+%26+%3Cb%3E%2C+%C3%A9%E2%86%B5+&temperature=0.5&seed=7&length=3&end-book=%0A&place=1&head=head-2&pieces=a+whale&joins=20", {}),
    ("autoregression", "task=copy&depth-copy=1&prompt-copy=", {}),
    ("maps", "cell=pre-norm-2-0.5", {'map_cell_arrangement': 'pre-norm'}),
    ("maps", "map=your-own&spec=%7B%22version%22%3A1%2C%22x%22%3A%7B%22field%22%3A%22lr%22%2C%22values%22%3A%5B0.003%2C0.01%2C0.03%2C0.1%5D%7D%2C%22y%22%3A%7B%22field%22%3A%22width%22%2C%22values%22%3A%5B16%2C24%5D%7D%2C%22arrangements%22%3A%5B%22pre-norm%22%2C%22plain%22%5D%2C%22base%22%3A%7B%22batch%22%3A32%2C%22steps%22%3A50%7D%2C%22seeds%22%3A2%2C%22target%22%3A0.75%7D&cell=pre-norm-0.003-24", {'map_y': 'width', 'map_y_values': '16, 24', 'map_arrangements': ['pre-norm', 'plain'], 'map_seeds': 2, 'map_target': 0.75, 'map_base_steps': 50, 'map_cell_y': 24}),
    ("autoregression", "depth-book=1&steps-book=50&part=pieces-of-words&rows=true&row=2", {}),
    ("anatomy", "block=3&depth=8", {'depth': 8}),
    ("playground", "depth=4&width=16&steps=40&panel=x", {'depth': 4}),
    ("playground", "net=transformer&task=copy&depth=2&width=16&heads=2&steps=40&panel=attention", {'net': 'transformer', 'panel': 'Weights and samples'}),
    ("playground", "arrangement=rezero&depth=4&width=16&steps=40&instrument=health", {'placement': 'pre-norm', 'instrument': 'Health'}),
    ("compare", "a=depth%3D4%26width%3D16%26steps%3D40&b=depth%3D4%26width%3D16%26residual%3Dfalse%26steps%3D40&change=b&seeds=2", {'compare_target': 'B', 'compare_seeds': 2}),
    ("lessons", "lesson=init", {}),
    ("claims", "topic=norms", {}),
    ("glossary", "word=rms", {}),
    ("papers", "paper=order-and-chaos", {}),
    ("papers", "topic=depth", {}),
    ("maps", "colour=gradient-ratio", {}),
    ("teacher", "open=playground&hides=verdict,theory", {}),
    ("residual", "part=memory-and-subspaces&size=0.5", {}),
    ("attention", "part=positions&place=5&projected=true", {}),
]
# fmt: on


# What older addresses say: the page shows its nearest, without a word in the address.
OLD = {("panel", "x"), ("panel", "attention"), ("arrangement", "rezero")}


@pytest.mark.parametrize(("page", "query", "holds"), OPENS, ids=[f"{page}?{query}"[:60] for page, query, _ in OPENS])
def test_an_address_opens_what_it_says(page: str, query: str, holds: dict[str, Any]) -> None:
    said = dict(parse_qsl(query, keep_blank_values=True))
    opened = by_link(f"{page}.py", **said)
    assert said.keys() <= opened.session_state["address_taken"].keys()
    assert address(opened).items() ^ said.items() <= OLD
    for key, value in holds.items():
        found = opened.session_state[key]
        assert found.tolist() == value if isinstance(found, np.ndarray) else found == value, key


@pytest.mark.parametrize("page", ["start", "playground", "maps", "lessons", "teacher"])
def test_an_older_link_with_a_language_is_english(page: str) -> None:
    plain, older = (by_link(f"{page}.py", **query) for query in ({}, {"lang": "zh"}))
    assert [str(element) for element in older.main] == [str(element) for element in plain.main]
