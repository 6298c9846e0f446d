# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report is one whole page: well made, complete in itself, safe, and right."""

import ast
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from posteriors import NOT_PRIVATE, STATEMENT, made_up, posterior_of

from dpmcmc import report
from dpmcmc.errors import InputError
from dpmcmc.posterior import Posterior
from dpmcmc.posterior.statement import StageSummary, Verdict
from dpmcmc.report import Budget, BudgetEntry, write_report
from dpmcmc.report.numbers import number

NASTY = "<script>alert('x')</script>\"&$\\frac{ ${title} $$"
ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)
"""Every sign, halves of surrogate pairs and control characters too."""

VOID = {"meta", "link", "img", "wbr"}
ENTRIES = (
    BudgetEntry("k3f9", "ana", "first look", "2026-03-01", 0.12),
    BudgetEntry("z0aa", "bo", "age model", "2026-05-11", 0.3),
)
BUDGET = Budget("people", 3.0, 1e-6, 0.42, 0.11, 0.47, ENTRIES, "z0aa")


class Page(HTMLParser):
    """A page taken apart; closing tags must close what is open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self._goes_on = False
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._goes_on = tag == "wbr"  # a word may be broken here, but it is one
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            before = self.words.pop() if self._goes_on else ""
            self.words.append(before + data)
        self._goes_on = False

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def written(folder: Path, posterior: Posterior, **given: object) -> str:
    path = write_report(posterior, folder / "report.html", **given)  # type: ignore[arg-type]
    assert path == folder / "report.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    return written(folder, made_up(), title="A title", budget=BUDGET)


def test_headings_descend_without_a_gap(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in Page(page).tags if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_contents_point_to_all_sections(page: str, tmp_path: Path) -> None:
    for text, count in ((page, 8), (written(tmp_path, made_up()), 7)):
        found = Page(text)
        links = [attributes["href"] for attributes in found.all("a")]
        assert len(links) == count
        assert links == [f"#{section['id']}" for section in found.all("section")]


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(page: str) -> None:
    found = Page(page)
    for _, attributes in found.tags:
        for name in ("src", "href"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:", "#"))
    assert "url(" not in page
    assert "@import" not in page
    assert found.all("script") == []
    policy = next(one for one in found.all("meta") if "http-equiv" in one)
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert "default-src 'none'" in str(policy["content"])


def test_it_is_made_for_phones_dark_rooms_paper_and_reading_aloud(page: str) -> None:
    found = Page(page)
    assert found.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in (
        found.all("meta")
    )
    assert "@media print" in page
    assert "prefers-color-scheme: dark" in page
    assert all(each["scope"] in ("row", "col") for each in found.all("th"))
    words = [str(image["alt"]) for image in found.all("img")]
    # A density and a trace of each of two parameters.
    assert len(words) == 4
    assert all("mean" in each or "scale" in each for each in words)


def test_the_same_posterior_gives_the_same_bytes(page: str, tmp_path: Path) -> None:
    assert written(tmp_path, made_up(), title="A title", budget=BUDGET) == page


def test_the_verdict_stands_at_the_top(tmp_path: Path) -> None:
    for usability, look in (
        ("usable", "good"),
        ("usable with wide intervals", "care"),
        ("not usable", "alarm"),
    ):
        verdict = Verdict(usability, f"since {NASTY}.")  # type: ignore[arg-type]
        text = written(tmp_path, made_up(statement=replace(STATEMENT, verdict=verdict)))
        header = text[text.index("<h1>") : text.index("<nav")]
        assert f'<p class="verdict {look}">' in header
        assert str(verdict) in Page(header).text
    text = written(tmp_path, made_up(statement=replace(STATEMENT, verdict=None)))
    assert 'class="verdict' not in text


def test_the_whole_statement_is_there(tmp_path: Path) -> None:
    statement = replace(STATEMENT, notes=(f"careful: {NASTY}",), tempered=100.0)
    shown = Page(written(tmp_path, made_up(statement=statement))).text
    assert all(" ".join(line.split()) in shown for line in statement.lines)


def test_the_table_has_the_numbers_of_the_summary(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).normal([3, -20], [0.5, 4], (2, 500, 2))
    posterior = posterior_of(
        {"b": draws}, coords={"p": ("age", "Größe")}, dims={"b": ["p"]}
    )
    text = Page(written(tmp_path, posterior)).text
    for name, row in posterior.summary().iterrows():
        shown = [number(row[key], row["sd"]) for key in ("mean", "hdi_3%", "hdi_97%")]
        mean, low, high = shown
        sd, size = number(row["sd"], row["sd"] / 10), number(row["ess_bulk"], 100)
        fit = f"{row['r_hat']:.3f}"
        assert f"{name} {mean} {sd} {low} to {high} {size} {fit}" in text


def test_whole_numbers_are_shown_as_such(tmp_path: Path) -> None:
    counts = np.random.default_rng(0).integers(0, 2, (2, 500))
    text = Page(written(tmp_path, posterior_of({"k": counts}))).text
    sd = number(float(counts.std(ddof=1)), float(counts.std(ddof=1)) / 10)
    assert f"k {counts.mean():.2f} {sd} 0 to 1" in text


def test_rough_estimates_are_marked(tmp_path: Path) -> None:
    assert "<mark>" not in written(tmp_path, made_up())
    drifting = written(tmp_path, made_up(shape=(1, 900), drift=9.0))
    assert drifting.count("<mark>") == 4  # effective draws and R-hat of two
    assert "Caution:" in Page(drifting).text


def test_noise_aware_draws_are_the_ones_shown(tmp_path: Path) -> None:
    plain, aware = made_up(["x"]), made_up(["x"], noise_aware=True)
    assert "count the noise" not in Page(written(tmp_path, plain)).text
    text = Page(written(tmp_path, aware)).text
    assert "count the noise" in text
    sd = float(aware.summary()["sd"].iloc[0])
    assert sd == pytest.approx(2 * float(plain.summary()["sd"].iloc[0]))
    assert f" {number(sd, sd / 10)} " in text


def test_each_stage_has_a_row_with_its_fraction(page: str) -> None:
    found = re.findall(r"<li><b>([^<]*):</b>(.*?)</li>", page, re.S)
    assert [name for name, _ in found] == ["scales", "sum", "chain", "check"]
    widths = [float(re.findall(r"width:([\d.]+)%", row)[0]) / 100 for _, row in found]
    assert widths == [stage.fraction for stage in STATEMENT.stages]
    assert "62% of the cost" in found[1][1]
    assert "cost nothing" in found[3][1]


def test_the_report_prices_nothing_itself() -> None:
    """It shows the fractions that a statement has, whatever was charged for them."""
    rooms = {"accounting", "cli", "ledger", "workflow"}
    for source in Path(report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not rooms & set(node.module.split(".")), source.name
                assert node.module != "dp_accounting.dp_event"


def test_the_budget_of_the_data_set_is_shown(page: str) -> None:
    text = Page(page).text
    assert "42% spent 11% reserved by runs that have not ended 47% left" in text
    assert "k3f9 ana first look 2026-03-01 12%" in text
    assert "z0aa (this report) bo age model 2026-05-11 30%" in text


def test_a_data_set_without_a_ledger_has_no_budget(tmp_path: Path) -> None:
    assert 'id="budget"' not in written(tmp_path, made_up())
    empty = Budget("people", 3.0, 1e-6, 0.0, 0.0, 1.0)
    text = written(tmp_path, made_up(), budget=empty)
    assert "Runs on this data set" not in text
    assert "100% left" in Page(text).text


@pytest.mark.parametrize(
    "parts", [(0.5, 0.5, 0.5), (-0.1, 0.1, 1.0), (math.nan, 0.5, 0.5), (2.0, 0, -1)]
)
def test_parts_that_are_no_fractions_are_refused(
    parts: tuple[float, float, float],
) -> None:
    with pytest.raises(InputError, match="fractions from 0 to 1"):
        Budget("people", 3.0, 1e-6, *parts)
    with pytest.raises(InputError, match="fractions from 0 to 1"):
        Budget("p", 3, 1e-6, 0, 0, 1, (BudgetEntry("r", "a", "p", "w", parts[0] + 2),))


def test_a_result_that_is_not_private_says_so_everywhere(tmp_path: Path) -> None:
    text = written(tmp_path, made_up(statement=NOT_PRIVATE))
    found = Page(text)
    marks = [each for each in found.all("strong") if each.get("class") == "alarm"]
    assert len(found.all("figure")) == len(marks) == 2
    assert all(
        str(image["alt"]).startswith("NOT PRIVATE") for image in found.all("img")
    )
    assert found.all("body") == [{"class": "open"}]
    assert "<title>NOT PRIVATE: " in text
    for part in re.split(r"<section|<footer", text):
        if "All parameters" not in part and 'id="run"' not in part:
            assert "NOT PRIVATE" in part or 'id="words"' in part
    assert "The result is private" not in found.text
    assert "of the cost" not in found.text


def test_a_private_result_raises_no_alarm(page: str) -> None:
    assert "NOT PRIVATE" not in Page(page).text
    assert not any("alarm" in str(each.get("class")) for _, each in Page(page).tags)


def test_a_tempered_result_says_so_at_the_estimates(tmp_path: Path) -> None:
    text = written(tmp_path, made_up(statement=replace(STATEMENT, tempered=100.0)))
    estimates = text[text.index('id="estimates"') : text.index('id="pictures"')]
    assert "Tempered" in estimates
    assert "Tempered" not in written(tmp_path, made_up())


def test_everything_that_is_given_is_escaped(tmp_path: Path) -> None:
    statement = replace(
        STATEMENT,
        notes=(NASTY,),
        prepared=(NASTY,),
        stages=(StageSummary(NASTY, NASTY, 1.0),),
        accountant=NASTY,
        version=NASTY,
        verdict=Verdict("usable", NASTY),
    )
    draws = {NASTY: np.random.default_rng(0).normal(size=(2, 50, 1))}
    posterior = posterior_of(
        draws,
        statement,
        settings={NASTY: NASTY},
        coords={"p": [NASTY]},
        dims={NASTY: ["p"]},
    )
    budget = replace(
        BUDGET, dataset=NASTY, entries=(BudgetEntry(NASTY, NASTY, NASTY, NASTY, 0.1),)
    )
    for shown in (
        posterior,
        replace(posterior, statement=replace(statement, not_private_because=(NASTY,))),
    ):
        text = written(
            tmp_path, shown, title=NASTY, asked={NASTY: NASTY}, budget=budget
        )
        found = Page(text)
        assert found.all("script") == []
        assert "<script" not in text
        assert all(name.isalnum() for name, _ in found.tags)
        assert found.text.count("alert('x')") >= 20
        # A dollar is no place to fill in.
        assert found.text.count("${title} $$") == found.text.count("alert('x')")


@settings(max_examples=12)
@given(name=ANY, words=ANY)
def test_any_words_leave_the_page_whole(
    tmp_path_factory: pytest.TempPathFactory, name: str, words: str
) -> None:
    one = made_up([name], shape=(1, 8))
    folder = tmp_path_factory.mktemp("any")
    text = written(folder, one, title=words, asked={words: name})
    assert len(Page(text).all("section")) == 7


def test_of_many_parameters_pictures_show_some_and_the_table_all(
    tmp_path: Path,
) -> None:
    many = np.random.default_rng(0).normal(size=(12, 200, 60))
    text = written(tmp_path, posterior_of({"weights": many}))
    found = Page(text)
    assert len(found.all("img")) == 2 * 12
    assert "Of 60 parameters, the first 12 are shown" in found.text
    assert "Of 12 chains, the first 8 have a line" in found.text
    assert found.text.count("weights[59]") == 1
    assert len(text.encode()) < 1.5e6


@pytest.mark.parametrize(
    "draws",
    [
        np.zeros((1, 1)),
        np.zeros((2, 50)),
        np.arange(3.0)[None],
        np.full((2, 50), np.inf),
        np.where(np.arange(120).reshape(2, 60) == 7, np.inf, 0.0),
        np.random.default_rng(0).integers(0, 3000, (2, 600)),
        np.random.default_rng(0).random((2, 60)) < 0.3,
        np.random.default_rng(0).normal(1e9, 1e-3, (1, 60)),
        np.random.default_rng(0).normal(0, 1e-200, (1, 60)),
        np.random.default_rng(0).normal(0, 1e30, (20, 60)).astype(np.float32),
    ],
    ids=[
        "one", "still", "three", "infinite", "one infinite", "counts", "yes or no",
        "far", "tiny", "huge",
    ],
)  # fmt: skip
def test_any_draws_can_be_shown(tmp_path: Path, draws: np.ndarray) -> None:
    accepted = np.zeros(draws.shape, dtype=bool)
    text = written(tmp_path, posterior_of({"x": draws, "y": draws}, accepted=accepted))
    found = Page(text)
    assert "nan" not in found.text
    assert "inf" not in re.sub("infinite|information", "", found.text)
    assert len(found.all("img")) == 4
    assert "no step was accepted" in found.text
    if not np.isfinite(draws).all():
        assert "finite" in found.text


@given(value=st.floats(-1e6, 1e6), sd=st.floats(1e-8, 1e5))
def test_numbers_are_shown_to_a_tenth_of_their_sd(value: float, sd: float) -> None:
    shown = float(number(value, sd).replace("−", "-").replace(",", ""))
    assert abs(shown - value) <= 0.05 * sd + 1e-9
    assert "-" not in number(value, sd)


def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    small = made_up(["x"], shape=(1, 8))
    for place in (tmp_path / "nowhere" / "report.html", tmp_path / "folder"):
        with pytest.raises(InputError, match=f"{place.name} cannot be written"):
            write_report(small, place)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_example_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(__file__).parents[2] / "docs" / "report.md"
    (example,) = re.findall(
        r"```python\n(.*?)```", source.read_text(encoding="utf-8"), re.S
    )
    monkeypatch.chdir(tmp_path)
    exec(example, {"posterior": made_up()})
    assert (tmp_path / "report.html").exists()
