"""Addresses as the app writes them: their keys and words open what they say."""

from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from tests.app_page import address, by_link

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

# A page, its query, and by their keys what controls and tables then hold: of each kind one.
# fmt: off
OPENS: list[tuple[str, str, dict[str, Any]]] = [
    ("normalization", "example=six-tokens-and-two-pads&gain=2.5&bias=-1&eps=1&padding=2&leave=true&unbiased=true&token=4&mode=eval&shift=0.5&part=what-scale-costs&ratio=10", {'normalization_preset': 'six tokens and two pads', 'normalization_gain': 2.5, 'normalization_bias': -1.0, 'normalization_eps': 1.0, 'normalization_padding': [2], 'normalization_left_out': True, 'normalization_unbiased': True, 'normalization_row': 4, 'normalization_mode': 'eval', 'normalization_part': 'What scale costs', 'normalization_ratio': 10, 'normalization_shift': 0.5}),
    ("normalization", "part=what-scale-costs&feature=1&far=30", {'normalization_part': 'What scale costs', 'normalization_outlier_feature': 1, 'normalization_outlier_far': 30.0}),
    ("normalization", "part=what-scale-costs&times=30", {'normalization_part': 'What scale costs', 'normalization_times': 30.0}),
    ("normalization", "part=a-batch-s-statistics&batch=3&seed=7", {'normalization_part': "A batch's statistics", 'normalization_rnn_count': 3, 'normalization_rnn_seed': 7}),
    ("normalization", "part=trained-nets&digits=50&rate=0.02&level=false", {'normalization_part': 'Trained nets', 'normalization_few_samples': 50, 'normalization_few_lr': 0.02, 'normalization_few_scales_branches': False}),
    ("normalization", "example=salary-and-bonus&method=group-norm&table=1%2C2%2C3%2C4%3B-5%2C6%2C7.125%2C1e-07&groups=2", {'normalization_preset': 'salary and bonus', 'normalization_method': 'group norm', 'normalization_good': [[1.0, 2.0, 3.0, 4.0], [-5.0, 6.0, 7.125, 1e-07]], 'normalization_groups': 2}),
    ("normalization", "method=instance-norm&sequences=3", {'normalization_method': 'instance norm', 'normalization_sequences': 3}),
    ("normalization", "method=dynamic-tanh&alpha=1.2", {'normalization_method': 'dynamic tanh', 'normalization_alpha': 1.2}),
    ("attention", "example=the-same-with-a-causal-mask&x=1%2C0%2C0%2C0%3B0%2C2%2C0%2C0%3B1%2C1%2C1%2C1%3B0%2C0%2C0%2C0.5&wv=1%2C0%3B0%2C1%3B1%2C1%3B0%2C0&causal=false&scaled=false&padding=1%2C3&token=2", {'attention_head_preset': 'The same with a causal mask', 'attention_head_x_good': [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.5]], 'attention_head_w_v_good': [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], 'attention_head_causal': False, 'attention_head_scaled': False, 'attention_head_pads': [1, 3], 'attention_head_token': 2}),
    ("attention", "example=five-random-tokens-d-k-2&closer=how-the-matrices-learn&wish=1&step-size=0.25&steps-down=7", {'attention_head_preset': 'Five random tokens, d_k = 2', 'attention_head_closer': 'How the matrices learn', 'attention_learning_target': 1, 'attention_learning_lr': 0.25, 'attention_learning_steps': 7}),
    ("attention", "part=softmax-and-d-k&row=the-same-over-4&scores=1%2C2&kind=weights&divisor=4&weigh=true&values=1%2C2%3B3%2C4", {'attention_part': 'Softmax and √d_k', 'attention_rows_preset': 'The same over √4', 'attention_rows_by': 4.0, 'attention_rows_weigh': True, 'attention_rows_row_good': [[1.0, 2.0]], 'attention_rows_kind': 'weights', 'attention_rows_values_good': [[1.0, 2.0], [3.0, 4.0]]}),
    ("attention", "part=softmax-and-d-k&d_k=16&draws=7", {'attention_part': 'Softmax and √d_k', 'attention_scaling_size': 16, 'attention_scaling_seed': 7}),
    ("attention", "part=single-and-multi-head&tokens=4&d_model=8&heads=12&d_v=16&others=20", {'attention_part': 'Single and multi-head', 'attention_shapes_tokens': 4, 'attention_shapes_d_model': 8, 'attention_shapes_heads': 12, 'attention_shapes_d_v': 16, 'attention_shapes_others': 20}),
    ("attention", "part=positions&table=four-features&encoding=learned&positions=12&features=6&seed=3&place=5&projected=true", {'attention_part': 'Positions', 'attention_positions_preset': 'Four features', 'attention_positions_count': 12, 'attention_positions_width': 6, 'attention_positions_seed': 3, 'attention_positions_kind': 'learned'}),
    ("attention", "part=positions-in-trained-nets&depth=1&steps=20&position=learned", {'attention_part': 'Positions in trained nets', 'attention_trained_depth': 1, 'attention_trained_steps': 20, 'attention_trained_position': 'learned'}),
    ("attention", "part=without-feed-forward&task=book&blocks=1&updates-book=20", {'attention_part': 'Without feed-forward', 'attention_feed_forward_task': 'book', 'attention_feed_forward_depth': 1, 'attention_feed_forward_steps_book': 20}),
    ("attention", "part=encoder-and-decoder&pair-task=sort&pair-blocks=2&pair-steps=40&pair-seed=3", {'attention_part': 'Encoder and decoder', 'attention_translation_task': 'sort', 'attention_translation_depth': 2, 'attention_translation_steps': 40, 'attention_translation_seed': 3}),
    ("attention", "part=recurrence-or-attention&length=3", {'attention_part': 'Recurrence or attention', 'attention_recurrence_count': 3}),
    ("gradients", "example=a-factor-above-1&factor=-0.5&length=12&input=2&target=-0.5&phi=tanh&layer=3&lr=0.25&activations=sigmoid%2Crelu&z=-1.5&spread=2&depth=3&residual=true&activation=tanh&init=xavier&norm=post-norm&layers=2&seeds=6", {'gradients_preset': 'A factor above 1', 'gradients_factor': -0.5, 'gradients_depth': 12, 'gradients_input': 2.0, 'gradients_target': -0.5, 'gradients_phi': 'tanh', 'gradients_layer': 3, 'gradients_lr': 0.25, 'gradients_shown': ['sigmoid', 'relu'], 'gradients_z': -1.5, 'gradients_spread': 2.0, 'gradients_net_depth': 3, 'gradients_net_residual': True, 'gradients_net_activation': 'tanh', 'gradients_net_init': 'xavier', 'gradients_net_norm': 'post-norm', 'gradients_net_layers': 2, 'gradients_net_seeds': 6}),
    ("gradients", "depth=2&mode=factors-of-my-own&factors=2%2C3%2C-4&activations=", {'gradients_net_depth': 2, 'gradients_mode': 'factors of my own', 'gradients_own_good': [[2.0, 3.0, -4.0]], 'gradients_shown': []}),
    ("residual", "example=pre-norm&table=1%2C2%3B3%2C5%3B0%2C0.5%3B1%2C1&placement=sandwich&skip=1.5&relu=true&size=0.5&seed=9&weight=3.5&repeats=3&dlcl=0.25&depth=2&net=norm-no-skip", {'residual_preset': 'Pre-norm', 'residual_token_good': [[1.0, 2.0], [3.0, 5.0], [0.0, 0.5], [1.0, 1.0]], 'residual_placement': 'sandwich', 'residual_skip': 1.5, 'residual_relu': True, 'residual_memory_size': 0.5, 'residual_memory_seed': 9, 'residual_variants_weight': 3.5, 'residual_variants_repeats': 3, 'residual_trained_depth': 2, 'residual_trained_net': 'norm, no skip', 'residual_variants_dlcl': 0.25}),
    ("autoregression", "example=stop-at-a-full-stop-or-at-the-length&depth-book=1&steps-book=50&arrangement=post-norm&prompt-book=A+%26+%3Cb%3E%2C+%C3%A9%E2%86%B5+&temperature=0.5&seed=7&length=3&end-book=%0A&place=1&head=head-2&pieces=a+whale&joins=20", {'autoregression_example': 'Stop at a full stop or at the length', 'autoregression_depth_book': 1, 'autoregression_steps_book': 50, 'autoregression_arrangement': 'post-norm', 'autoregression_prompt_book': 'A & <b>, é↵ ', 'autoregression_temperature': 0.5, 'autoregression_seed': 7, 'autoregression_length': 3, 'autoregression_end_book': '\n', 'autoregression_position': 1, 'autoregression_head': 'head 2', 'autoregression_subword_text': 'a whale', 'autoregression_joins': 20}),
    ("autoregression", "task=copy&depth-copy=1&prompt-copy=", {'autoregression_task': 'copy', 'autoregression_depth_copy': 1, 'autoregression_prompt_copy': ''}),
    ("maps", "cell=pre-norm-2-0.5", {'map_cell_arrangement': 'pre-norm'}),
    ("maps", "map=your-own&spec=%7B%22version%22%3A1%2C%22x%22%3A%7B%22field%22%3A%22lr%22%2C%22values%22%3A%5B0.003%2C0.01%2C0.03%2C0.1%5D%7D%2C%22y%22%3A%7B%22field%22%3A%22width%22%2C%22values%22%3A%5B16%2C24%5D%7D%2C%22arrangements%22%3A%5B%22pre-norm%22%2C%22plain%22%5D%2C%22base%22%3A%7B%22batch%22%3A32%2C%22steps%22%3A50%7D%2C%22seeds%22%3A2%2C%22target%22%3A0.75%7D&cell=pre-norm-0.003-24", {'map_choice': 'your own', 'map_y': 'width', 'map_y_values': '16, 24', 'map_arrangements': ['pre-norm', 'plain'], 'map_seeds': 2, 'map_target': 0.75, 'map_base_steps': 50, 'map_cell_y': 24}),
    ("autoregression", "depth-book=1&steps-book=50&part=pieces-of-words&rows=true&row=2", {'autoregression_part': 'Pieces of words', 'autoregression_rows': True, 'autoregression_row': 2}),
    ("anatomy", "block=3&depth=8", {'anatomy_block': 3, 'depth': 8}),
    ("playground", "depth=4&width=16&steps=40&panel=x", {'depth': 4}),
    ("playground", "net=transformer&task=copy&depth=2&width=16&heads=2&steps=40&panel=attention", {'net': 'transformer', 'panel': 'Weights and samples'}),
    ("playground", "arrangement=rezero&depth=4&width=16&steps=40&instrument=health", {'placement': 'pre-norm', 'instrument': 'Health'}),
    ("compare", "a=depth%3D4%26width%3D16%26steps%3D40&b=depth%3D4%26width%3D16%26steps%3D40%26residual%3Dfalse&change=b&seeds=2", {'compare_target': 'B', 'compare_seeds': 2}),
    ("lessons", "lesson=init", {}),
    ("claims", "search=warm-up&topic=norms", {'claim_search': 'warm-up', 'claim_topic': 'norms'}),
    ("glossary", "word=rms", {'glossary_word': 'rms'}),
    ("teacher", "open=playground&hides=verdict,theory", {'teacher_target': 'playground', 'teacher_playground_hide': ['verdict', 'theory']}),
    ("residual", "part=memory-and-subspaces&size=0.5", {"residual_part": "Memory and subspaces", "residual_memory_size": 0.5}),
    ("attention", "part=positions&place=5&projected=true", {"attention_positions_place": 5, "attention_positions_projected": True}),
]
# fmt: on


@pytest.mark.parametrize(("page", "query", "holds"), OPENS, ids=[f"{page}?{query}"[:60] for page, query, _ in OPENS])
def test_an_address_opens_what_it_says(page: str, query: str, holds: dict[str, Any]) -> None:
    opened = by_link(f"{page}.py", **dict(parse_qsl(query, keep_blank_values=True)))
    for key, value in holds.items():
        found = opened.session_state[key]
        assert found.tolist() == value if isinstance(found, np.ndarray) else found == value, key
    assert address(opened).keys() <= dict(parse_qsl(query, keep_blank_values=True)).keys() | {
        "method",
        "a",
        "b",
        "hides",
    }
