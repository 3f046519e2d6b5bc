"""A lesson in a real browser: by keyboard from guess to verdict, left and found again where it was."""

from playwright.sync_api import expect

from tests.browser.page import button, press, settled, until


def test_a_lesson_is_done_by_keyboard_from_the_guess_to_the_verdict(visitors):
    page = visitors("/lessons?lesson=final")
    page.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    settle = page.get_by_role("button", name="This is my guess")
    settle.and_(page.locator(":enabled")).wait_for()
    settle.focus()
    page.keyboard.press("Enter")
    train = page.get_by_role("button", name="Train both")
    train.wait_for()
    train.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What happened").wait_for(timeout=90_000)
    page.get_by_text("Your guess was right").wait_for()
    page.get_by_role("heading", name="Challenge").wait_for()
    page.get_by_text("The code that did it").click()
    page.get_by_text("class Net(nn.Module)").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_lesson_and_attempt_move_one_at_a_time_and_both_are_found_again_where_they_were(visitors):
    page = settled(visitors("/lessons?lesson=final"))
    page.get_by_test_id("stRadioGroup").locator("label").nth(2).click()
    until(page, lambda: page.get_by_role("radio").nth(2).is_checked(), "the chosen answer")
    press(settled(page), "This is my guess")
    press(page, "Train both")
    page.get_by_text("Your guess was right").wait_for()
    press(page, "Train the attempt")
    page.get_by_text("the challenge is judged when").wait_for(state="hidden")
    page.get_by_role("combobox", name="Speed").first.select_option("5 steps/s")
    press(page, "Train both")
    button(page, "Pause").first.wait_for()  # the digits on their way have one too
    press(page, "Train the attempt")
    button(page, "Train both").wait_for()  # one thing is trained at a time
    until(page, lambda: button(page, "Pause").count() == 0, "the end of the attempt")
    until(page, lambda: steps(page)[1:] == [60], "the attempt's last step")
    places = steps(page)
    assert places[0] < 60
    page.get_by_role("link", name="Start").click()
    page.wait_for_url("**/")
    page.go_back()
    until(page, lambda: steps(page) == places, "both steps again")
    page.get_by_text("Your guess was right").wait_for()
    press(page, "Guess again")
    page.get_by_test_id("stRadioGroup").locator("label").nth(0).click()
    press(settled(page), "This is my guess")
    until(page, lambda: steps(page) == [0], "the nets before training")
    assert page.get_by_role("heading", name="What happened").count() == 0


def steps(page):
    """The steps shown by all players of the page."""
    return [int(one.input_value()) for one in page.get_by_role("slider", name="Step shown").all()]


def test_a_plain_link_opens_in_the_language_of_the_visit_and_a_paper_as_it_is(visitors):
    page = visitors("/normalization?lang=zh")
    page.set_default_timeout(30_000)
    with page.expect_popup() as opened:
        settled(page).locator('a[href*="glossary?word="]:visible').first.click()
    opened.value.wait_for_url("**/glossary?word=*lang=zh*")
    paper = page.evaluate(
        """() => {
          const link = document.body.appendChild(document.createElement("a"))
          link.href = "https://arxiv.org/abs/1512.03385"
          link.onclick = (event) => event.preventDefault()
          link.click()
          return link.href
        }"""
    )
    assert paper == "https://arxiv.org/abs/1512.03385"


def test_the_frame_of_a_page_and_its_charts_are_in_the_language_of_the_visit(visitors):
    page = visitors("/?lang=zh")
    page.set_default_timeout(30_000)
    settled(page).get_by_role("link", name="实验台", exact=True).first.wait_for()
    page.get_by_text("五分钟导览，第 1 步，共 4 步").wait_for()
    page.get_by_role("button", name="复制链接").wait_for()
    page.locator(".player-heading").get_by_text("只有残差").first.wait_for()
    assert page.get_by_role("combobox", name="速度").first.inner_text().split() == [
        "每秒",
        "1",
        "步",
        "每秒",
        "5",
        "步",
        "每秒",
        "25",
        "步",
        "全速",
    ]
    page.get_by_role("link", name="实验台", exact=True).first.click()
    expect(page.get_by_role("slider", name="深度")).to_have_count(2)  # of the controls and of the drawing
    page.get_by_role("figure", name="梯度随深度的变化，图").get_by_text("梯度随深度的变化").wait_for()


def test_a_press_on_a_language_changes_all_that_stands_on_the_page(visitors):
    page = visitors("/")
    page.set_default_timeout(30_000)
    settled(page).get_by_role("button", name="Copy link").wait_for()
    page.get_by_role("button", name="中文").click()
    page.get_by_role("button", name="复制链接").wait_for()
    page.get_by_role("link", name="故事", exact=True).first.click()
    page.get_by_role("heading", name="故事", exact=True).wait_for()
