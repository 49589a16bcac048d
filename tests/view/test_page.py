"""The page in a browser: it says what Python says, stays alive, and keeps to itself."""

from __future__ import annotations

import contextlib
import io
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tadc
from tadc.errors import TadcError
from tadc.view import view
from tadc.view.site import PAGE, examples, programs_of_language
from tests.support.browser import browser, served

BOOT = 120_000
"""The milliseconds that the compiler may take to load, on a machine that does other things too."""
ANSWER = 30_000
"""The milliseconds that an answer may take there."""

SHORT = "x: f64[N]\ny[i] = x[2*i]\n"
TABS = ("pictures", "why", "stages", "loops", "plan", "llvm", "cuda")
DEADLY = "y[i] = " + " + ".join(["x[i]"] * 5000)
SLOW = "y[i] = " + " * ".join(["x[i]"] * 800)
VIOLATIONS = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));
"""
FOCUSED = "document.activeElement.id || document.activeElement.className"


class Page:
    """The page, with what it asked for and complained about since it was opened."""

    def __init__(self, context: Any, address: str):
        self.address = address
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.tab = context.new_page()
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.add_init_script(VIOLATIONS)

    def open(self, hash: str = "") -> None:
        self.tab.goto(self.address + hash)
        self.wait_ready()

    def wait_ready(self) -> None:
        self.tab.wait_for_selector("html[data-compiler=ready]", timeout=BOOT)

    def write(self, source: str) -> None:
        """Write a formula and wait for what the compiler says of it."""
        self.tab.fill("#formula", source)
        self.wait_for(source)
        self.tab.wait_for_selector("html[data-compiler=ready]", timeout=ANSWER)

    def wait_for(self, source: str) -> None:
        """Wait for the answer to a formula that the page has got, or is about to get."""
        end = time.monotonic() + ANSWER / 1000
        while self.tab.input_value("#formula") != source and time.monotonic() < end:
            self.tab.wait_for_timeout(20)
        self.tab.wait_for_selector("#derivative[aria-busy=false]", timeout=ANSWER)
        assert self.tab.input_value("#formula") == source

    def derivative(self) -> str:
        return self.tab.locator("#derivative .program").text_content()

    def error(self) -> str:
        return self.tab.locator("#derivative .error").text_content()

    def open_tab(self, name: str) -> None:
        self.tab.click(f"#tab-{name}")
        self.tab.wait_for_selector("#panel[aria-busy=false]", timeout=ANSWER)

    def copied(self, button: str) -> str:
        """The text that a button copies."""
        self.tab.click(button)
        self.tab.wait_for_selector(f"{button}:text('Copied')")
        self.tab.wait_for_selector(f"{button}:text('Copy')")
        return self.tab.evaluate("navigator.clipboard.readText()")

    def violations(self) -> list[str]:
        return self.tab.evaluate("violations")


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def address(opened: Any, site: Path) -> Iterator[str]:
    with served(site) as found:
        yield found


@pytest.fixture(scope="module")
def shared(opened: Any, address: str) -> Iterator[Page]:
    """One page for all tests that leave it as it was; the compiler is loaded once."""
    context = opened.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = Page(context, address)
    page.open()
    yield page
    context.close()


@pytest.fixture
def page(shared: Page) -> Iterator[Page]:
    shared.complaints.clear()
    yield shared
    assert shared.complaints == []
    assert shared.violations() == []
    assert [url for url in shared.asked if not url.startswith(shared.address)] == []


@pytest.mark.parametrize("source", [*(e.source for e in examples()), *programs_of_language()])
def test_the_page_says_what_python_says(page: Page, source: str):
    page.write(source)
    try:
        derivative = str(tadc.compile(source).derivative())
    except TadcError as error:
        assert page.error() == str(error)
        if error.span:
            assert page.tab.locator("#underlay .wrong").text_content() == error.span.excerpt
    else:
        assert page.error() == ""
        assert page.derivative() == derivative


def test_an_error_keeps_the_last_answer_in_grey(page: Page):
    page.write(SHORT)
    kept = page.derivative()
    page.write(SHORT.replace("x[2", "z[i] + x[q"))
    assert page.error()
    assert page.derivative() == kept
    assert "stale" in page.tab.get_attribute("#derivative", "class")


def test_the_last_of_many_edits_is_answered(page: Page):
    page.tab.fill("#formula", "")
    for n in range(50):
        page.tab.fill("#formula", f"x: f64[N]\ny[i] = x[{n}*i + 1]\n")
        page.tab.wait_for_timeout(random.Random(n).randrange(120))
    page.wait_for("x: f64[N]\ny[i] = x[49*i + 1]\n")
    assert "49" in page.derivative()


def test_a_deadly_formula_is_survived(page: Page):
    page.write(DEADLY)
    assert "too deep or too large for the browser" in page.error()
    page.wait_ready()
    page.write(SHORT)
    assert page.error() == ""
    assert page.derivative() == str(tadc.compile(SHORT).derivative())
    said = page.complaints.copy()
    page.complaints.clear()
    assert "Maximum call stack size exceeded" in "".join(said)


def test_what_takes_too_long_is_stopped(page: Page):
    page.write(SLOW)
    assert "takes more than 5 seconds" in page.error()
    page.wait_ready()
    page.write(SHORT)
    assert page.error() == ""


def test_text_stays_text(page: Page):
    source = f'# <img src=x onerror="document.title = 1"> <b>\n{SHORT}'
    page.write(source)
    for name in TABS:
        page.open_tab(name)
    page.open_tab("why")
    assert page.tab.locator("img, main b").count() == 0
    assert page.tab.locator("#underlay .comment").text_content() == source.splitlines()[0]


def test_a_link_holds_the_formula(page: Page, opened: Any):
    letters = random.Random(0).choices("abcdefghij äöü 𝑥𝑦", k=2000)
    source = f"# {''.join(letters)}\n{SHORT}"
    page.write(source)
    context = opened.new_context()
    other = Page(context, page.copied("#share"))
    other.tab.goto(other.address)
    other.tab.wait_for_selector("html[data-compiler=loading] #underlay .type")
    other.wait_ready()
    assert other.tab.input_value("#formula") == source
    context.close()


def test_a_damaged_link_is_said_to_be(page: Page, opened: Any):
    context = opened.new_context()
    other = Page(context, page.address + "#f=AAAA")
    other.tab.goto(other.address)
    other.tab.wait_for_selector("#formula")
    other.tab.get_by_text("damaged").wait_for()
    context.close()


def test_back_and_forward_restore_formulas(page: Page):
    first, second = examples()[1:3]
    page.tab.select_option("#examples", first.name)
    page.wait_for(first.source)
    page.write(SHORT)
    assert page.tab.input_value("#examples") == ""  # the menu says that it is none of them
    page.tab.select_option("#examples", second.name)
    page.wait_for(second.source)
    page.tab.go_back()
    page.wait_for(SHORT)
    page.tab.go_forward()
    page.wait_for(second.source)


def test_what_belongs_together_lights_up(page: Page):
    page.write(SHORT)
    page.open_tab("why")
    page.tab.hover("#derivative .link")
    lit = page.tab.locator(".lit")
    places = ("#underlay .lit", "#derivative .lit", "#panel .lit")
    assert all(page.tab.locator(place).count() for place in places)
    assert len(set(lit.evaluate_all("found => found.map((each) => each.dataset.link)"))) == 1
    assert page.tab.locator("#card").is_visible()
    assert "x[2*i]" in page.tab.inner_text("#card")
    page.tab.mouse.move(2, 2)
    assert lit.count() == 0
    assert page.tab.locator("#card").is_hidden()


def hits(svg: str) -> int:
    """The points of a picture that read the element."""
    group = re.search(r'<g class="hit".*?</g>', svg, re.DOTALL)
    return group[0].count("<circle") if group else 0


def test_sliders_choose_sizes_and_the_element(page: Page):
    source = examples()[0].source
    page.write(source)
    page.open_tab("pictures")
    chosen: dict[str, int] = {}
    for name in ("p", "N"):
        slider = page.tab.locator(f"input[name={name}]")
        moved = slider.element_handle()
        slider.press("ArrowLeft")
        slider.press("ArrowLeft")
        chosen[name] = int(slider.input_value())
        seen = view(source, parts=["pictures"], element={"p": chosen["p"]}, sizes=chosen)
        titles = [picture["title"] for picture in seen["pictures"]]
        page.tab.wait_for_selector(f"figcaption:text-is({titles[0]!r})", timeout=ANSWER)
        page.tab.wait_for_selector("html[data-compiler=ready]", timeout=ANSWER)
        assert page.tab.locator("figcaption").all_text_contents() == titles
        drawn = page.tab.locator("figure svg").evaluate_all(
            "found => found.map((e) => e.outerHTML)"
        )
        assert [hits(svg) for svg in drawn] == [hits(p["svg"]) for p in seen["pictures"]]
        assert moved.evaluate("(input) => input.isConnected")
    page.open_tab("why")


def test_stages_are_those_of_the_compiler(page: Page):
    source = examples()[0].source
    function = tadc.compile(source)
    page.write(source)
    page.open_tab("stages")
    steps = page.tab.locator(".steps button").all_text_contents()
    assert steps[0] == "tensor-index" and steps[-1] == "simplified"
    for name in steps:
        page.tab.click(f".steps button:text-is('{name}')")
        if page.tab.locator("#panel > details").count():
            page.tab.click("#panel > details > summary")
            page.tab.wait_for_selector("#panel > details > pre")
        text = page.tab.locator("#panel pre").last.text_content()
        assert text.rstrip() == function.ir(name).rstrip()
    page.open_tab("why")


def test_the_caret_lights_up_its_read(page: Page):
    page.write(SHORT)
    page.tab.focus("#formula")
    for _ in range(3):
        page.tab.keyboard.press("ArrowLeft")
    assert page.tab.locator("#underlay .lit").text_content() == "x[2*i]"


def test_the_keyboard_alone_reaches_everything(page: Page):
    page.write(SHORT)
    page.tab.focus("#formula")
    reached: set[str] = set()
    for _ in range(40):
        page.tab.keyboard.press("Tab")
        reached.add(page.tab.evaluate(FOCUSED))
    wanted = {"help", "examples", "share", "theme", "formula", "python", "part-text", "part-python"}
    assert wanted | {"tab-why", "panel", "link lit"} <= reached
    page.tab.focus("#tab-why")
    page.tab.keyboard.press("ArrowLeft")
    assert page.tab.evaluate(FOCUSED) == "tab-pictures"
    page.tab.keyboard.press("ArrowRight")


@pytest.mark.parametrize("name", TABS)
def test_copies_run_in_python(page: Page, name: str):
    page.write(f'# """ \\ """\n{SHORT}')
    page.open_tab(name)
    for button in ("#python", "#part-python"):
        program, out = page.copied(button), io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(program, {})
        assert "dx" in out.getvalue()
    page.open_tab("why")


@pytest.mark.parametrize("width", [360, 800, 1600])
@pytest.mark.parametrize("name", ["why", "stages", "pictures", "cuda"])
def test_the_page_fits_its_window(page: Page, width: int, name: str):
    page.tab.set_viewport_size({"width": width, "height": 800})
    page.write(examples()[0].source)
    page.open_tab(name)
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= width
    cut_off = "found => found.filter((each) => each.scrollWidth > each.clientWidth).length"
    assert page.tab.locator("#panel dd").evaluate_all(cut_off) == 0
    page.open_tab("why")
    page.tab.set_viewport_size({"width": 1280, "height": 800})


def test_themes_differ_and_last(page: Page):
    def paper() -> str:
        return page.tab.evaluate("getComputedStyle(document.body).backgroundColor")

    colours: set[str] = set()
    for theme in ("light", "dark"):
        while page.tab.get_attribute("html", "data-theme") != theme:
            page.tab.click("#theme")
        colours.add(paper())
    assert len(colours) == 2
    page.tab.click("#theme")
    for scheme in ("light", "dark"):
        page.tab.emulate_media(color_scheme=scheme)
        colours.remove(paper())
    page.tab.emulate_media(color_scheme="no-preference")


def test_the_second_visit_takes_no_network(opened: Any, site: Path):
    context = opened.new_context()
    with served(site) as address:
        page = Page(context, address)
        page.open()
        page.tab.evaluate("navigator.serviceWorker.ready.then(() => true)")
        page.tab.wait_for_timeout(500)
    page.open()
    page.write(SHORT)
    assert page.derivative() == str(tadc.compile(SHORT).derivative())
    context.close()


# --- parts of the page ----------------------------------------------------------------------------

DIFF = "async ([a, b]) => (await import('./diff.mjs')).lineDiff(a, b)"


def longest_common(a: list[str], b: list[str]) -> int:
    """The length of a longest common subsequence."""
    row = [0] * (len(b) + 1)
    for x in a:
        old = row[:]
        for j, y in enumerate(b):
            row[j + 1] = old[j] + 1 if x == y else max(row[j], old[j + 1])
    return row[-1]


def test_differences_hold_both_texts_and_are_smallest(page: Page):
    generator = random.Random(0)
    for _ in range(60):
        before, after = (
            generator.choices(("a b", "a c", "b", "", "d e f"), k=generator.randrange(12))
            for _ in range(2)
        )
        rows = page.tab.evaluate(DIFF, ["\n".join([*before, "end"]), "\n".join([*after, "end"])])
        old = [r["text"] for r in rows if r["kind"] != "added"]
        new = [r["text"] for r in rows if r["kind"] != "removed"]
        assert (old, new) == ([*before, "end"], [*after, "end"])
        same = sum(r["kind"] == "same" for r in rows)
        assert same == longest_common([*before, "end"], [*after, "end"])


def test_colours_leave_the_text_as_it_is(page: Page):
    kinds = re.findall(r"^  (\w+): \[", (PAGE / "highlight.mjs").read_text(), re.MULTILINE)
    assert len(kinds) == 6
    for kind in kinds:
        text = f'{examples()[0].source}%a = "b" ; // c \U0001d465 /* d */\n'
        code = "async ([t, k]) => (await import('./text.mjs')).painted(t, k, []).textContent"
        assert page.tab.evaluate(code, [text, kind]) == text
