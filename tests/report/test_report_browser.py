# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: it renders, fits a phone, prints, and is legible."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import WHY_NOT, Browser, browsing, is_installed
from posteriors import NOT_PRIVATE, STATEMENT, made_up, posterior_of

from dpmcmc.posterior.statement import Verdict
from dpmcmc.report import Budget, BudgetEntry, write_report

pytestmark = pytest.mark.skipif(not is_installed(), reason=WHY_NOT)

PHONE, DESK = 375, 1280
NAMES = (
    "age",
    "<b>scale</b>",
    "how many cigarettes this person says to have smoked a day, on average " * 2,
    "a_name_without_a_space_" * 4,
    "Größe in µm",
)

CONTRAST = """
const light = colour => {
  const parts = colour.match(/[\\d.]+/g).map(Number).slice(0, 3).map(part => {
    part /= 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const behind = node => {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return light(colour);
  }
  return 1;
};
const found = [];
for (const node of document.body.querySelectorAll('*')) {
  const own = [...node.childNodes].some(one => one.nodeType === 3 && one.data.trim());
  if (!own || !node.getClientRects().length) continue;
  const pair = [light(getComputedStyle(node).color), behind(node)];
  pair.sort((one, other) => one - other);
  found.push((pair[1] + 0.05) / (pair[0] + 0.05));
}
return found;
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    draws = np.random.default_rng(1).normal(size=(2, 200, len(NAMES)))
    private = posterior_of(
        {"coefficients": draws, "intercept": draws[..., 0]},
        replace(STATEMENT, epsilon=4.0, notes=("a remark.",)),
        coords={"predictor": NAMES},
        dims={"coefficients": ["predictor"]},
    )
    entries = (BudgetEntry("k3f9", "ana", "first look " * 9, "2026-03-01", 0.4),)
    hopeless = replace(NOT_PRIVATE, verdict=Verdict("not usable", "it is too short."))
    return {
        "private": write_report(
            private,
            folder / "private.html",
            title="Heights of people",
            asked={"model": NAMES[3] * 5},
            budget=Budget("people", 3, 1e-6, 0.4, 0.1, 0.5, entries, "k3f9"),
        ),
        "open": write_report(made_up(statement=hopeless), folder / "open.html"),
    }


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("driver") / "driver.log") as browser:
        yield browser


@pytest.fixture(params=["private", "open"])
def page(
    request: pytest.FixtureRequest, window: Browser, pages: dict[str, Path]
) -> Browser:
    window.resize(DESK, 900)
    window.emulate(scheme="light")
    window.open(pages[request.param])
    return window


def test_it_renders_without_a_word_in_the_console(page: Browser) -> None:
    assert page.run("return document.readyState") == "complete"
    assert page.run("return document.compatMode") == "CSS1Compat"
    assert page.run("return document.querySelectorAll('section').length") >= 7
    assert page.console() == []


def test_every_picture_is_drawn(page: Browser) -> None:
    for width in (DESK, PHONE):
        page.resize(width, 900)
        natural = page.run("return [...document.images].map(one => one.naturalWidth)")
        shown = page.run("return [...document.images].map(one => one.clientWidth)")
        assert len(natural) >= 4
        assert min(natural) > 0
        assert min(shown) > 250


def test_nothing_is_fetched(page: Browser) -> None:
    fetched = page.run(
        "return performance.getEntriesByType('resource').map(one => one.name)"
    )
    assert [name for name in fetched if not name.startswith("data:")] == []


def test_a_phone_need_not_scroll_sideways(page: Browser) -> None:
    page.resize(PHONE, 667)
    assert page.run("return innerWidth") == PHONE
    assert page.run("return document.documentElement.scrollWidth") == PHONE
    # Nothing but what scrolls by itself reaches beyond the screen.
    beyond = page.run(
        "return [...document.querySelectorAll('main *, header *')].filter(one => "
        f"one.getBoundingClientRect().right > {PHONE} + 1 && "
        "!one.closest('.scroll')).map(one => one.outerHTML.slice(0, 80))"
    )
    assert beyond == []
    # Bars are pictures: they are seen whole.
    hidden = page.run(
        "return [...document.querySelectorAll('.bars')].filter(one => "
        "one.offsetWidth > one.parentElement.clientWidth).length"
    )
    assert hidden == 0


def test_a_table_that_scrolls_shows_it_and_keeps_the_names(
    window: Browser, pages: dict[str, Path]
) -> None:
    window.open(pages["private"])
    window.resize(PHONE, 667)
    table = "document.querySelector('#estimates .scroll')"
    hidden, shadow = window.run(
        f"return [{table}.scrollWidth - {table}.clientWidth, "
        f"getComputedStyle({table}).backgroundImage]"
    )
    assert hidden > 20
    assert shadow.count("linear-gradient") == 4
    window.run(f"{table}.scrollLeft = {hidden}")
    left = window.run(
        f"return [...{table}.querySelectorAll('tbody th')].map(one => "
        f"one.getBoundingClientRect().left - {table}.getBoundingClientRect().left)"
    )
    assert max(map(abs, left)) < 1
    assert window.run(f"return {table}.tabIndex") == 0


def test_a_desk_shows_tables_whole(page: Browser) -> None:
    hidden = page.run(
        "return [...document.querySelectorAll('.scroll')].filter(one => "
        "one.scrollWidth > one.clientWidth).length"
    )
    assert hidden == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(page: Browser, scheme: str) -> None:
    page.emulate(scheme=scheme)
    paper = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    contrasts = page.run(CONTRAST)
    assert len(contrasts) > 60
    assert min(contrasts) >= 4.5


def test_it_prints_on_white_with_whole_tables(page: Browser) -> None:
    page.emulate(scheme="dark", media="print")
    try:
        shown = page.run(
            "return [getComputedStyle(document.querySelector('nav')).display, "
            "getComputedStyle(document.body).backgroundColor, "
            "...[...document.querySelectorAll('.scroll')].map(one => "
            "getComputedStyle(one).overflowX)]"
        )
    finally:
        page.emulate(scheme="light")
    assert set(shown) == {"none", "rgb(255, 255, 255)", "visible"}
    printed = page.print_page()
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 9


def test_not_private_stands_in_red_at_the_top_and_by_every_picture(
    window: Browser, pages: dict[str, Path]
) -> None:
    window.resize(DESK, 900)
    window.open(pages["open"])
    red = "rgb(176, 0, 32)"
    top = window.run(
        "const one = document.querySelector('.label'), box = "
        "one.getBoundingClientRect(); return [one.innerText, "
        "getComputedStyle(one).backgroundColor, box.bottom < innerHeight]"
    )
    assert top == ["NOT PRIVATE", red, True]
    marks = window.run(
        "return [...document.querySelectorAll('figure')].map(one => { const mark = "
        "one.querySelector('.alarm'); return [mark.innerText, "
        "getComputedStyle(mark).color, mark.offsetHeight > 0]; })"
    )
    assert marks == [["NOT PRIVATE", red, True]] * 2
    window.open(pages["private"])
    assert "NOT PRIVATE" not in window.run("return document.body.innerText")


def test_names_are_shown_as_they_are(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["private"])
    rows = window.run(
        "return [...document.querySelectorAll('#estimates tbody th')].map(one => "
        "one.textContent)"
    )
    assert rows == [*(f"coefficients[{name}]" for name in NAMES), "intercept"]


def test_greek_letters_keep_their_case(window: Browser, pages: dict[str, Path]) -> None:
    """δ in a capital is another symbol."""
    window.open(pages["private"])
    words = window.run("return document.body.innerText")
    assert "δ (delta)" in words
    assert "Δ" not in words
