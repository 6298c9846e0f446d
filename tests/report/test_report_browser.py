# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: it renders, fits a phone, prints, and is legible."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import WHY_NOT, Browser, browsing, is_installed
from posteriors import NOT_PRIVATE, made_up

from dpmcmc.report import Budget, Entry, Part, write_report

pytestmark = pytest.mark.skipif(not is_installed(), reason=WHY_NOT)

PHONE, DESK = 375, 1280
LONG = "a_parameter_with_a_very_long_name_" * 3

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
  const pair = [light(getComputedStyle(node).color), behind(node)].sort();
  pair.sort((one, other) => one - other);
  found.push((pair[1] + 0.05) / (pair[0] + 0.05));
}
return found;
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    budget = Budget(
        "people", 3, 1e-6, 0.4, 0.1, 0.5, (Entry("k3f9", "ana", "look", 0.3),), "k3f9"
    )
    private = made_up(["mean", "<b>scale</b>", LONG], noise_aware=True)
    return {
        "private": write_report(
            private,
            folder / "private.html",
            title="Heights of people",
            asked={"model": LONG * 3},
            budget=budget,
            parts=[Part("start", 0.2), Part("bits", 0.9)],
            rehearsal_text="way    off\n" + "-" * 300,
        ),
        "open": write_report(made_up(statement=NOT_PRIVATE), folder / "open.html"),
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
    window.open(pages[request.param])
    return window


def test_it_renders_without_a_word_in_the_console(page: Browser) -> None:
    assert page.run("return document.readyState") == "complete"
    assert page.run("return document.compatMode") == "CSS1Compat"
    assert page.run("return document.querySelectorAll('section').length") == 9
    assert page.console() == []


def test_every_figure_is_drawn(page: Browser) -> None:
    widths = page.run("return [...document.images].map(one => one.naturalWidth)")
    shown = page.run("return [...document.images].map(one => one.clientWidth)")
    assert len(widths) >= 7
    assert min(widths) > 0
    assert min(shown) > 200


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
        "!one.closest('.scroll, pre')).map(one => one.outerHTML.slice(0, 80))"
    )
    assert beyond == []
    # Bars are pictures: they are seen whole.
    hidden = page.run(
        "return [...document.querySelectorAll('.bars')].filter(one => "
        "one.offsetWidth > one.parentElement.clientWidth).length"
    )
    assert hidden == 0


def test_words_stand_out_from_what_is_behind_them(page: Browser) -> None:
    contrasts = page.run(CONTRAST)
    assert len(contrasts) > 100
    assert min(contrasts) >= 4.5


def test_it_prints(page: Browser) -> None:
    printed = page.print_page()
    assert printed.startswith(b"%PDF")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 14


def test_paper_has_whole_tables_and_no_contents(page: Browser) -> None:
    page.command("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown = page.run(
            "return [getComputedStyle(document.querySelector('nav')).display, "
            "...[...document.querySelectorAll('.scroll')].map(one => "
            "getComputedStyle(one).maxHeight), "
            "...[...document.querySelectorAll('th')].map(one => "
            "getComputedStyle(one).position)]"
        )
    finally:
        page.command("Emulation.setEmulatedMedia", {"media": ""})
    assert set(shown) == {"none", "static"}


def test_not_private_stands_in_red_at_the_top_and_by_every_figure(
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
        "getComputedStyle(mark).color, mark.clientHeight + mark.offsetHeight > 0]; })"
    )
    assert len(marks) == 7
    assert all(mark == ["NOT PRIVATE", red, True] for mark in marks)
    window.open(pages["private"])
    assert "NOT PRIVATE" not in window.run("return document.body.innerText")


def test_names_are_shown_as_they_are(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["private"])
    assert "<b>scale</b>" in window.run("return document.body.innerText")
