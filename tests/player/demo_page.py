"""What the demo shows: a page of the address's own runs (`?runs=1` to 4), with a counter of how often it was run."""

import streamlit as st

from addnorm.player.declare import Chart, Headline, Panel, StackPanel
from components.charts import figures
from components.player.page import player
from components.player.panels import stack_blocks
from components.shell.static_chart import static_chart
from components.shell.visitor import visitor_id
from models.spec import RunConfig, plan

st.set_page_config(layout="wide")
query = st.query_params.to_dict()


@st.fragment(run_every=0.2)
def grow() -> None:
    points = st.session_state.points = st.session_state.get("points", 0) + 5
    if points > int(query.get("until", points)):
        return
    line = {"type": "scatter", "name": "loss", "x": list(range(points)), "y": [2.0 - at / 400 for at in range(points)]}
    axes = {"xaxis": {"range": [0, 400]}, "yaxis": {"range": [0, 2.5]}, "uirevision": "loss", "margin": {"t": 10}}
    static_chart({"data": [line], "layout": axes}, "Loss", "loss", on_click=clicked)
    st.caption(st.session_state.get("clicked", ""))


def clicked(x: object, _y: object) -> None:
    st.session_state.clicked = f"clicked at {x}"


if "still" in query:
    grow()
    st.stop()
own = {key: query.pop(key, "") for key in ("count", "reports", "keys", "below")}
cfg, _ = RunConfig.from_query(query)
runs = [cfg, *(RunConfig(**{**vars(cfg), "residual": False}) for _ in range(int(own["count"] or 1) - 1))]
sites = plan(cfg).sites


def block(of: RunConfig, at: int) -> list[Panel]:
    return [
        Headline(run=at, title=f"Verdict {at}"),
        StackPanel(run=at, title=f"Signal and gradient, run {at + 1}", blocks=stack_blocks(of)),
    ]


charts: list[Panel]
if len(runs) == 1:
    charts = [
        *block(cfg, 0),
        Chart("Signal by depth", figure=figures.profile("Signal by depth", "act_rms", sites), sentence="activation"),
        Chart("Gradient by depth", figure=figures.profile("Gradient by depth", "grad_rms", sites), sentence="gradient"),
        Chart("Loss", figure=figures.loss(cfg), sentence="loss"),
    ]
    if own["below"]:
        charts += [
            Chart("Sample cosine by depth", figure=figures.cosine(sites), sentence="cosine", span=6),
            Chart(
                "Gradient by layer and step",
                figure=figures.step_map("Gradient by layer and step", "grad_rms", sites, cfg.steps),
                span=6,
            ),
            Chart("Digit mistakes", span=12, height=220),
        ]
else:
    labels = ["A with skip", "B without"]
    charts = [panel for at, one in enumerate(runs) for panel in block(one, at)]
    charts += [
        Chart(title, figure=figures.profiles(title, track, sites, labels))
        for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms"))
    ]
    charts.append(Chart("Loss", figure=figures.losses(labels, steps=cfg.steps, task="digits")))

counts = st.session_state
counts["reruns"] = counts.get("reruns", 0) + 1
at = player("demo", runs, charts, reports=own["reports"] or "rest", keys=own["keys"])  # type: ignore[arg-type]
st.caption(f"Run {counts['reruns']} times; at step {at.step}, {'moving' if at.playing else 'resting'}")
st.text_input("A field")
st.button("Again")
assert visitor_id()
