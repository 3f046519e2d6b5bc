"""Surgery: take a block out of the net shown, silence it, remove its norms or swap it, and see what that costs."""

import numpy as np
import streamlit as st

from components.charts import Figure, Series, depth_profile
from components.figures import level
from components.instruments.panel import Instrument, Panel
from models.insight.surgery import lesion_sentence, surgery_sentence
from models.spec.plan import block_name

OPERATIONS = {
    "skip": "Take the block out",
    "silence": "Silence its branches",
    "remove norm": "Remove its norms",
    "swap": "Swap two blocks",
}


def draw(panel: Panel) -> None:
    blocks = list(range(1, panel.cfg.depth + 1))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        operation = st.selectbox("Operation", list(OPERATIONS), format_func=OPERATIONS.__getitem__, key=panel.key("operation"))
        block = st.selectbox("Block", blocks, index=len(blocks) // 2, key=panel.key("block"))
        other = st.selectbox("Other block", blocks, key=panel.key("other"), disabled=operation != "swap")
    found = panel.ask("surgery", operation=operation, block=block, other=other if operation == "swap" else 0)
    if found is not None:
        done, value = found.args, found.value
        panel.say(surgery_sentence(done["operation"], done["block"], done["other"], value["loss"], value["accuracy"]))
        panel.table("Before and after", at=["before", "after"], loss=value["loss"], accuracy=value["accuracy"])
    curve = panel.ask_by_button("lesions", "Take out every block in turn")
    if curve is not None:
        whole, skip, silence = (curve.value[key] for key in ("whole", "skip", "silence"))
        st.markdown(lesion_sentence(whole, skip))
        panel.chart(lesion_chart(whole, skip, silence), "Loss without each block")
        st.caption("One net of one seed on its held-out split; nothing is trained after a cut.")


def lesion_chart(whole: float, skip: np.ndarray, silence: np.ndarray) -> Figure:
    """The held-out loss without each block and with its branches silenced, (depth,) each; the whole net's as a guide."""
    sites = [block_name(block) for block in range(1, len(skip) + 1)]
    series = [Series("block taken out", skip), Series("branches silenced", silence, "other")]
    figure = depth_profile(title="Loss without each block", unit="held-out cross-entropy", sites=sites, series=series)
    figure["layout"]["shapes"] = [level(y=whole, dash="dot")] if np.isfinite(whole) else []
    return figure


SURGERY = Instrument(
    draw,
    "measured",
    "A copy of the net of the step shown is changed and judged on the held-out split in eval mode. Taken out: the stream passes "
    "the block untouched, its norm after the add too. Silenced: its branches add 0, norms after the add stay. Norms removed: all "
    "slots of that block become the identity. The curve takes out each block alone (lesion study: Veit 2016, arXiv 1605.06431); "
    "the dotted line is the whole net.",
)
