# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Labels in reports and pictures: as they are, whatever they hold and however long."""

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest
from browser import WHY_NOT, Browser, browsing, is_installed
from posteriors import made_up

from dpmcmc import Posterior, plot_posterior
from dpmcmc.report import write_report

PHONE, DESK = 375, 1280
NASTY = "<script>alert('x')</script>\"&$\\frac{"
LONG = "how many cigarettes this person says to have smoked a day, on average " * 2
NAMES = ("age", NASTY, LONG, "a_name_without_a_space_" * 4, "Größe in µm")


def labelled() -> Posterior:
    plain = made_up(["intercept"], noise_aware=True)
    draws = np.random.default_rng(1).normal(size=(2, 750, len(NAMES)))
    warm_up = draws[:, : plain.warmup_accepted.shape[1]]
    assert plain.noise_aware is not None
    return replace(
        plain,
        draws={"coefficients": draws, **plain.draws},
        warmup_draws={"coefficients": warm_up, **plain.warmup_draws},
        noise_aware={"coefficients": 2 * draws, **plain.noise_aware},
        labels={"coefficients": NAMES},
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(labelled(), tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def window(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not is_installed():
        pytest.skip(WHY_NOT)
    with browsing(tmp_path_factory.mktemp("driver") / "driver.log") as browser:
        browser.open(page)
        yield browser


def test_labels_are_escaped_everywhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count(escape(NASTY)) >= 5  # in tables, captions and words for figures
    assert "coefficients[0]" not in text
    assert f"[{NAMES[4]}]" in text


def test_labels_are_read_as_they_are(window: Browser) -> None:
    window.resize(DESK, 900)
    rows = window.run(
        "return [...document.querySelectorAll('#answer tbody th')].map(one => "
        "one.textContent)"
    )
    assert rows == [*(f"coefficients[{name}]" for name in NAMES), "intercept"]
    assert window.console() == []


def test_a_desk_shows_numbers_beside_the_longest_label(window: Browser) -> None:
    window.resize(DESK, 900)
    hidden = window.run(
        "return [...document.querySelectorAll('.scroll')].filter(one => "
        "one.scrollWidth > one.clientWidth).length"
    )
    assert hidden == 0


def test_a_phone_shows_a_label_and_its_mean_side_by_side(window: Browser) -> None:
    window.resize(PHONE, 667)
    assert window.run("return document.documentElement.scrollWidth") == PHONE
    ends = window.run(
        "return [...document.querySelectorAll('#answer tbody tr')].map(one => "
        "one.children[1].getBoundingClientRect().right)"
    )
    assert len(ends) == len(NAMES) + 1
    assert max(ends) <= PHONE


def test_a_phone_breaks_a_name_before_its_place(window: Browser) -> None:
    window.resize(PHONE, 667)
    shown = window.run(
        "return document.querySelector('#answer tbody th').innerText.length + ' ' + "
        "document.querySelector('#answer tbody th').getClientRects().length"
    )
    assert shown == "17 1"
    lines = window.run(
        "const one = document.querySelector('#answer tbody th'), range = "
        "document.createRange(); return [...one.childNodes].filter(node => "
        "node.nodeType === 3).map(node => { range.selectNode(node); return "
        "range.getClientRects().length; })"
    )
    assert lines == [1, 1]  # "coefficients", and "[age]", each in a line of its own


def test_long_labels_leave_room_for_figures(window: Browser) -> None:
    for width in (PHONE, DESK):
        window.resize(width, 900)
        shown = window.run("return [...document.images].map(one => one.clientWidth)")
        assert min(shown) > 180
        beside = window.run(
            "return [...document.querySelectorAll('.up')].map(one => one.offsetWidth)"
        )
        assert 40 < max(beside) <= 68


def test_pictures_are_titled_by_labels(tmp_path: Path) -> None:
    figure = plot_posterior(labelled(), tmp_path / "run.png")
    labels = [axes.yaxis.label for axes in figure.axes[::2]]
    titles = [label.get_text() for label in labels]
    assert titles[0] == "coefficients[age]"
    assert "".join(titles[4].split("\n")) == "coefficients[Größe inµm]"
    assert titles[-1] == "intercept"
    assert titles[2].endswith("…")
    assert max(len(line) for title in titles for line in title.split("\n")) <= 22
    assert not any(label.get_parse_math() for label in labels)
