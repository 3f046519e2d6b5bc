"""The Autoregression lab with a small net, and what it shows of a text."""

from streamlit.testing.v1 import AppTest

from tests.app_page import charts, sound


def small(page: AppTest, task: str) -> AppTest:
    page.selectbox(key="autoregression_task").select(task)
    sound(page.run())
    page.slider(key=f"autoregression_depth_{task}").set_value(1)
    page.number_input(key=f"autoregression_steps_{task}").set_value(50)
    return sound(page.run())


def text(page: AppTest) -> str:
    """The prompt and all that was said after it."""
    return str(page.code[0].value)


def chosen(page: AppTest) -> list[str]:
    return charts(page)["Candidates"]["data"][0]["text"]
