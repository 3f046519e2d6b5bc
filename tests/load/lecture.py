"""A lecture by script: the app's own plan of 45 minutes, led in a browser, with thirty students beside three more."""

import asyncio
import io
import random
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from PIL import Image

from benchmarks.report import Figure
from benchmarks.timing import spread
from models.lessons.plan import plan_from, prepared_plans
from models.lessons.stops import START, page_of, poll_of, questions_of
from models.spec import RunConfig
from tests.browser.chromium import ARGS, CHROMIUM, MISSING, listen
from tests.browser.page import PATIENCE
from tests.load.classroom import GUESS, Led
from tests.load.controls import with_server
from tests.load.pupil import Pupil
from tests.load.server import ROOT, Server

FOLDER = ROOT / "docs" / "classroom"
PLAN = next(iter(prepared_plans().values()))
WALL, LAPTOP = {"width": 1920, "height": 1080}, {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}
PICTURE_WIDTH = 960  # pixels at most
TRAINED = "() => Number(document.querySelector('.player[data-step]')?.dataset.step) >= 40"
NETS = {"a": RunConfig(depth=24), "b": RunConfig(depth=24)}
AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]:not(:has([data-testid="stSkeleton"]))'
# Whether a page stands at a stop's address, which lacks what is usual, and its script is over.
AT = """([page, query, atRest]) => {
    const own = new URLSearchParams(location.search)
    const is = location.pathname.split("/").at(-1) === page && Object.entries(query).every(([k, v]) => (own.get(k) ?? v) === v)
    return is && document.querySelector(atRest)
}"""
SAYS = "(text) => ` ${document.querySelector('.class-numbers')?.textContent}`.includes(` ${text}`)"


def lecture(sessions: int = 30, plan: str = PLAN, folder: Path = FOLDER) -> list[Figure]:
    """Leads a plan stop by stop to homework. Minutes do not pass; what is waited for is seen. Six pictures are taken."""
    if CHROMIUM is None:
        return [Figure("a lecture", None, note=MISSING)]

    async def measure(server: Server) -> list[Figure]:
        from playwright.async_api import async_playwright

        async with AsyncExitStack() as stack:
            started = await stack.enter_async_context(async_playwright())
            browser = await started.chromium.launch(executable_path=CHROMIUM, args=ARGS)
            return await _Lecture(server, browser, stack, folder).give(sessions, plan)

    return with_server(measure)


class _Lecture:
    """Four browsers and some students of a class. `screens`: seconds to wall, laptop and phone, by what was pressed."""

    def __init__(self, server: Server, browser: Any, stack: AsyncExitStack, folder: Path) -> None:
        self.server, self.browser, self.stack, self.folder = server, browser, stack, folder
        self.led, self.complaints, self.chance = Led(), list[str](), random.Random(1)
        self.screens: dict[str, list[float]] = {}
        self.followers: list[Any] = []

    async def give(self, sessions: int, plan: str) -> list[Figure]:
        """Gives the whole lecture; what it took."""
        stops = plan_from(plan).stops
        began = time.monotonic()
        await self._open(sessions, plan)
        for at, stop in enumerate(stops):
            if at:
                await self._lead("Next", stop)
            if questions := questions_of(stop):
                await self._guess(questions, alone=not at)
                pictured = {0: (self.wall, "asked"), 1: (self.teacher, "teacher"), 2: (self.phone, "phone")}
                if at in pictured:
                    await self._picture(*pictured[at])
                await self._lead("Reveal", stop)
                if at == 2:
                    await self.wall.wait_for_function(TRAINED)
                    await self._picture(self.wall, "revealed")
        await self._drive()
        await self._homework()
        note = f"{len(stops)} stops, {plan_from(plan).minutes} minutes by its plan"
        return [
            Figure("the lecture by script", time.monotonic() - began, "s", note=note),
            *self.led.figures(self.server),
            *(
                Figure(f"from {what} to wall, laptop and phone, at rest", max(taken), "s", note=spread(taken))
                for what, taken in self.screens.items()
            ),
            Figure("errors in four browsers", len(self.complaints), at_most=0, note="; ".join(self.complaints[:1])),
        ]

    async def _tab(self, address: str, size: dict[str, int]) -> Any:
        """A browser of its own at an address."""
        context = await self.browser.new_context(viewport=size, color_scheme="light")
        context.set_default_timeout(PATIENCE)
        tab = await context.new_page()
        listen(tab, self.complaints)
        await tab.goto(address)
        return tab

    async def _open(self, sessions: int, plan: str) -> None:
        """Opens the class with its plan; wall, laptop, phone and students come."""
        url = self.server.url
        self.teacher = teacher = await self._tab(f"{url}/teacher?plan={quote(plan)}", LAPTOP)
        await teacher.get_by_role("button", name="Open a class").click()
        await teacher.get_by_role("button", name="Reveal").wait_for()
        await teacher.wait_for_function("() => location.search.includes('key=')")
        (code,) = parse_qs(urlsplit(await teacher.evaluate("location.href")).query)["class"]
        link = await teacher.get_by_role("link", name="Open the projector").get_attribute("href")
        self.wall = await self._tab(link, WALL)
        self.laptop, self.phone = [await self._tab(f"{url}/join?c={code}", size) for size in (LAPTOP, PHONE)]
        self.followers = [self.wall, self.laptop, self.phone]
        for _ in range(sessions):
            self.led.pupils.append(await self.stack.enter_async_context(Pupil(url, "", f"class={code}")))
        self.here = sessions + 2
        await teacher.wait_for_function(SAYS, arg=f"0 of {self.here} answered")

    async def _guess(self, questions: Sequence[str], *, alone: bool) -> None:
        """Phone and students answer all questions of a stop; each student `alone`, for the delay to the teacher."""
        for at, question in enumerate(questions):
            options = poll_of(question).options
            await self._settled(self.phone)
            if options:
                name = self.chance.choice(options)
                await self.phone.get_by_role("main").get_by_role("button", name=name, exact=True).nth(at).click()
            else:
                await self.phone.get_by_role("textbox", name="A number").fill("0.03")
                await self.phone.get_by_role("button", name="Send").click()
            for number, pupil in enumerate(self.led.pupils, start=2):
                await pupil.settled()
                began = time.monotonic()
                if options:
                    await pupil.press(self.chance.choice(options), at)
                else:
                    await pupil.write("A number", f"{0.9 ** self.chance.choice((10, 16, 32, 32, 64)):.3g}")
                if alone and not at:
                    await self.teacher.wait_for_function(SAYS, arg=f"{number} of {self.here} answered")
                    self.led.taken.setdefault(GUESS, []).append(time.monotonic() - began)
            count = self.here - 1  # the laptop's student says nothing
            said = f"{count} question {at + 1}" if at else f"{count} of {self.here} answered"
            await self.teacher.wait_for_function(SAYS, arg=said)

    async def _settled(self, tab: Any) -> Any:
        await tab.locator(AT_REST).wait_for()
        return tab

    async def _lead(self, name: str, stop: str) -> None:
        """Presses a button of the teacher's; waits until all show the stop that it brings."""
        await self._settled(self.teacher)
        for pupil in self.led.pupils:
            await pupil.settled()
        before = max(pupil.listener["version"] for pupil in self.led.pupils)
        page, query = page_of(stop)

        async def follows(tab: Any) -> float:
            if name == "Reveal":
                await tab.get_by_text(re.compile("^The class (guessed|answered)")).first.wait_for()
            await tab.wait_for_function(AT, arg=["" if page == START else page, query, AT_REST])
            return time.monotonic() - began

        began = time.monotonic()
        button = self.teacher.get_by_role("button", name=name, exact=True).or_(
            self.teacher.get_by_role("switch", name=name, exact=True)
        )
        await button.press("Space")
        taken, _ = await asyncio.gather(
            asyncio.gather(*map(follows, self.followers)),
            self.led.all_show(name, lambda pupil: pupil.listener["version"] > before and pupil.at_rest),
        )
        self.screens.setdefault(name, []).extend(taken)

    async def _drive(self) -> None:
        """Shows a comparison that the plan lacks, takes a net's residual away and trains both on every screen."""
        teacher = await self._settled(self.teacher)
        await teacher.get_by_role("combobox", name=re.compile("Show something else")).fill(_compared(NETS))
        await teacher.keyboard.press("Enter")
        await self._lead("Show it to the class", _compared(NETS))
        await teacher.get_by_role("radio", name="B", exact=True).check(force=True)
        await self._lead("Residual", _compared(NETS | {"b": RunConfig(depth=24, residual=False)}))
        await (await self._settled(teacher)).get_by_role("button", name="Train on every screen").click()
        for tab in self.followers:
            await tab.wait_for_function(TRAINED)
        await self._picture(self.wall, "driven")

    async def _homework(self) -> None:
        """Gives homework; a phone does it and hands it in, and the teacher checks it."""
        teacher = await self._settled(self.teacher)
        await teacher.get_by_text("A link without a class, and homework").click()
        link = await teacher.get_by_text(re.compile(r"/homework\?t=")).inner_text()
        phone = await self._tab(link.strip(), PHONE)
        await phone.get_by_role("radio").first.check(force=True)
        await (await self._settled(phone)).get_by_role("button", name="This is my guess").click()
        await phone.get_by_text("Your guess:").wait_for()
        name = phone.get_by_role("textbox", name="Name, or a nickname")
        await name.fill("Ada")
        await name.press("Enter")
        text = phone.locator("pre").filter(has_text="Signature: ")
        await text.wait_for()
        await name.evaluate("el => el.scrollIntoView()")
        await self._picture(phone, "homework")
        await teacher.get_by_text("Check what was handed in").click()
        pasted = teacher.get_by_role("textbox", name="Or paste them")
        await pasted.fill(await text.inner_text())
        await pasted.press("Control+Enter")
        await teacher.get_by_test_id("stDataFrame").wait_for()

    async def _picture(self, tab: Any, name: str) -> None:
        """Takes a tab's picture, once its charts are drawn."""
        await self._settled(tab)
        await tab.wait_for_function("() => !document.querySelector('.awaited')")
        picture = Image.open(io.BytesIO(await tab.screenshot())).convert("RGB")
        picture.thumbnail((PICTURE_WIDTH, PHONE["height"]))
        self.folder.mkdir(exist_ok=True)
        picture.save(self.folder / f"{name}.webp", quality=70, method=6)


def _compared(nets: dict[str, RunConfig]) -> str:
    return "compare?" + urlencode({letter: urlencode(cfg.to_query()) for letter, cfg in nets.items()})
