"""A lesson in a real browser: by keyboard from guess to verdict, left and found again where it was."""

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
