"""A worksheet of a plan: its questions with room for answers, and pictures of their nets, as a page to print."""

import re
from collections.abc import Mapping, Sequence
from html import escape

from components.charts.diagram import COMPACT, STYLE, small_diagram
from components.shell import compare_link
from components.shell.naming import name_of
from models.claims.claims import CLAIMS
from models.content import Texts
from models.lessons import stops
from models.lessons.lessons import LESSONS
from models.lessons.questions import OwnQuestion
from models.spec import RunConfig

TEXTS = Texts("teacher")
MAX_DIAGRAMS = 4  # of a stop
ROOM = f'<div class="room">{"<hr>" * 3}</div>'
COMPARE = "compare"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
:root {{ --st-text-color: #000; --st-font: system-ui, sans-serif; font: 15px/1.45 var(--st-font) }}
body {{ max-width: 46rem; margin: 1.5rem auto; padding: 0 1rem }}
section {{ break-inside: avoid; margin: 1.5rem 0 }}
h1 {{ font-size: 1.5rem }} h2 {{ font-size: 1.1rem; margin: 0 0 .3rem }} p {{ margin: .3rem 0 }}
ul {{ list-style: "\\2610\\2002"; margin: .3rem 0; padding-left: 1.4rem }}
hr {{ height: 1.6rem; margin: 0; border: 0; border-bottom: 1px solid #999 }}
* {{ print-color-adjust: exact }}
{style}</style></head><body><h1>{title}</h1><p>{name}</p>{sections}</body></html>"""


def worksheet(title: str, plan: Sequence[str]) -> str:
    """The worksheet of the stops of a plan: an HTML page that stands alone. It has no answers."""
    sections = [_section(number, stop) for number, stop in enumerate(plan, start=1)]
    name = f"{escape(TEXTS('name'))}: {'_' * 40}"
    title = escape(title or TEXTS("worksheet"))
    return PAGE.format(title=title, style=STYLE, name=name, sections="".join(sections))


def _section(number: int, stop: str) -> str:
    """A stop: its title, the diagrams of its nets, and its questions with room for answers."""
    nets = list(_nets(stop).items())[:MAX_DIAGRAMS]
    diagrams = "".join(
        f"<figure><figcaption>{escape(name)}</figcaption>{small_diagram(cfg, cfg.depth, COMPACT)}</figure>"
        for name, cfg in nets
    )
    questions = "".join(_question(stop, question) for question in stops.questions_of(stop)) or ROOM
    pictures = f'<div class="diagram-nets">{diagrams}</div>' if diagrams else ""
    return f"<section><h2>{number}. {escape(_heading(stop))}</h2>{pictures}{questions}</section>"


def _heading(stop: str) -> str:
    return LESSONS[stop].title if stop in LESSONS else stops.title_of(stop)


def _question(stop: str, question: str) -> str:
    """A question with boxes for its options, or room for a number, and lines for reasons."""
    poll = stops.poll_of(question)
    text = poll.title
    if stop in LESSONS:
        text = LESSONS[stop].question
    elif claim := stops.claim_of(stop):
        text = CLAIMS[claim].question
    marked = escape if isinstance(poll, OwnQuestion) else _marked
    options = "".join(f"<li>{marked(option)}</li>" for option in poll.options)
    answer = f"<ul>{options}</ul>" if options else f"<p>{escape(TEXTS('number'))}: {'_' * 20}</p>"
    paragraph = "" if stop == question and poll.title == text else f"<p>{_marked(text)}</p>"  # it is the heading
    return f"{paragraph}{answer}<p>{escape(TEXTS('because'))}</p>{ROOM}"


def _marked(text: str) -> str:
    """A text as HTML, with its code and emphasis."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text)))


def _nets(stop: str) -> Mapping[str, RunConfig]:
    """The nets of a stop by name; none where a page shows none."""
    if stop in LESSONS:
        return LESSONS[stop].nets
    if claim := stops.claim_of(stop):
        return CLAIMS[claim].nets
    if stop == stops.START:
        return stops.NETS
    page, query = stops.page_of(stop)
    nets = {
        stops.PLAYGROUND: lambda: [RunConfig.from_query(query)[0]],
        COMPARE: lambda: compare_link.from_query(query)[0],
    }
    return {name_of(cfg): cfg for cfg in nets[page]()} if page in nets else {}
