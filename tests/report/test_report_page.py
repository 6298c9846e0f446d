# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report is one whole page: well made, complete in itself, and safe."""

import errno
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from posteriors import NOT_PRIVATE, STATEMENT, made_up

from dpmcmc import InputError, Posterior, Statement
from dpmcmc.report import Budget, Entry, Part, write_report

NASTY = "<script>alert('x')</script>\"&$\\frac{"
DRAWN = '<svg class="bar"><i>x</i></svg>'
ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)
"""Every sign, halves of surrogate pairs and control characters too."""

VOID = {"meta", "link", "img", "rect", "wbr"}


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

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("script", "style"):
            before = self.words.pop() if self._goes_on else ""
            self.words.append(before + data)
        self._goes_on = False

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def written(folder: Path, posterior: Posterior, **told: object) -> str:
    path = write_report(posterior, folder / "report.html", **told)  # type: ignore[arg-type]
    assert path == folder / "report.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("report"), made_up(), title="A title")


def test_headings_descend_without_a_gap(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in Page(page).tags if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_contents_point_to_sections(page: str) -> None:
    found = Page(page)
    places = {attributes.get("id") for _, attributes in found.tags}
    links = [attributes["href"] for attributes in found.all("a")]
    assert len(links) >= 8
    assert all(link is not None and link[1:] in places for link in links)
    names = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(names) == len(set(names))


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    for _, attributes in Page(page).tags:
        for name in ("src", "href"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:", "#"))
    assert "url(" not in page
    assert "@import" not in page
    policy = Page(page).all("meta")[2]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert "default-src 'none'" in str(policy["content"])


def test_it_is_made_for_phones_and_for_reading_aloud(page: str) -> None:
    found = Page(page)
    assert found.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in (
        found.all("meta")
    )
    assert "@media print" in page
    assert all(each["scope"] in ("row", "col") for each in found.all("th"))


def test_every_figure_says_in_words_what_it_shows(page: str) -> None:
    words = [str(image["alt"]) for image in Page(page).all("img")]
    # A density, a trace and ranks of each of two parameters, and one pair.
    assert len(words) == 7
    assert all(len(each) > 30 and re.search(r"\d", each) for each in words)
    assert sum("Density" in each for each in words) == 2
    assert sum("Trace" in each for each in words) == 2
    assert sum("Ranks" in each for each in words) == 2
    assert sum("Scatter" in each for each in words) == 1


def test_the_same_posterior_gives_the_same_bytes(page: str, tmp_path: Path) -> None:
    assert written(tmp_path, made_up(), title="A title") == page


def test_the_statement_stands_in_words_and_for_machines(tmp_path: Path) -> None:
    statement = replace(STATEMENT, notes=(f"careful: {NASTY}",))
    text = written(tmp_path, made_up(statement=statement))
    found = re.search(
        r'<script type="application/json" id="dpmcmc-statement">(.*?)</script>', text
    )
    assert found is not None
    expected = made_up(statement=statement).statement
    assert Statement.from_json(found[1]) == expected
    assert json.loads(found[1])["notes"] == [f"careful: {NASTY}"]
    shown = Page(text).text
    assert all(" ".join(line.split()) in shown for line in expected.text.splitlines())


def test_whatever_is_told_is_escaped(tmp_path: Path) -> None:
    statement = replace(
        STATEMENT,
        notes=(NASTY,),
        prepared=(NASTY,),
        released_first=(NASTY,),
        accountant=NASTY,
        decided=NASTY,
        version=NASTY,
    )
    text = written(
        tmp_path,
        made_up((NASTY, "b"), statement=statement, settings={NASTY: NASTY}),
        title=NASTY,
        asked={NASTY: NASTY},
        budget=Budget(
            NASTY,
            3,
            1e-6,
            0.5,
            0.2,
            0.3,
            (Entry(NASTY, DRAWN, DRAWN, 0.5, DRAWN),),
            NASTY,
        ),
        parts=[Part(NASTY, 0.5), Part(DRAWN, 0.5)],
        rehearsal_text=NASTY,
    )
    found = Page(text)
    assert found.all("script") == [
        {"type": "application/json", "id": "dpmcmc-statement"}
    ]
    assert text.count("<script") == text.count("</script>") == 1
    assert all(name.isalnum() for name, _ in found.tags)
    assert found.all("i") == []
    assert found.text.count("alert('x')") > 20


@settings(max_examples=12)
@given(name=ANY, told=ANY)
def test_any_words_leave_the_page_whole(
    tmp_path_factory: pytest.TempPathFactory, name: str, told: str
) -> None:
    one = made_up([name], shape=(1, 8))
    text = written(tmp_path_factory.mktemp("any"), one, title=told, asked={told: name})
    assert len(Page(text).all("script")) == 1


def test_a_result_that_is_not_private_says_so_everywhere(tmp_path: Path) -> None:
    text = written(tmp_path, made_up(statement=NOT_PRIVATE))
    found = Page(text)
    figures = len(found.all("figure"))
    marks = [each for each in found.all("strong") if each.get("class") == "alarm"]
    assert figures == len(marks) == 7
    assert all(
        str(image["alt"]).startswith("Not private.") for image in found.all("img")
    )
    assert '<p class="label alarm">NOT PRIVATE</p>' in text
    assert "<title>NOT PRIVATE: " in text
    assert "The result is private" not in found.text
    assert "What is protected" not in found.text


def test_a_private_result_raises_no_alarm(page: str) -> None:
    assert "NOT PRIVATE" not in Page(page).text
    assert not any("alarm" in str(each.get("class")) for _, each in Page(page).tags)


def test_ten_parameters_stay_small(tmp_path: Path) -> None:
    names = [f"weight {place}" for place in range(10)]
    text = written(tmp_path, made_up(names, shape=(4, 5000), noise_aware=True))
    assert len(Page(text).all("img")) == 3 * 10 + 6
    assert len(text.encode()) < 1.5e6


def test_of_many_parameters_figures_show_some_and_tables_all(tmp_path: Path) -> None:
    many = np.random.default_rng(0).normal(size=(2, 400, 100))
    many[:, :, 90] += np.linspace(0, 9, 400)
    text = written(tmp_path, made_up(draws={"weights": many}))
    found = Page(text)
    assert len(found.all("img")) == 3 * 12 + 6
    assert "12 of the 100 parameters" in found.text
    assert found.text.count("weights[99]") == 2
    # One that drifts is shown, wherever it stands.
    assert any(
        "Trace of weights[90]" in str(image["alt"]) for image in found.all("img")
    )
    assert len(text.encode()) < 1.5e6


@pytest.mark.parametrize(
    "draws",
    [
        np.zeros((1, 1)),
        np.zeros((2, 50)),
        np.arange(3.0)[None],
        np.random.default_rng(0).integers(0, 3, (2, 60)),
        np.random.default_rng(0).integers(0, 3000, (2, 600)),
        np.random.default_rng(0).random((2, 60)) < 0.3,
        np.random.default_rng(0).normal(1e9, 1e-3, (1, 60)),
        np.random.default_rng(0).normal(0, 1e-12, (1, 60)),
        np.random.default_rng(0).normal(0, 1e30, (20, 60)).astype(np.float32),
    ],
    ids=[
        "one", "still", "three", "few", "counts", "yes or no", "far", "tiny", "huge"
    ],
)  # fmt: skip
def test_any_draws_can_be_shown(tmp_path: Path, draws: np.ndarray) -> None:
    posterior = made_up(
        draws={"x": draws, "y": draws},
        accepted=np.zeros(draws.shape, dtype=bool),
    )
    text = written(tmp_path, posterior)
    assert "nan" not in Page(text).text
    assert len(Page(text).all("img")) >= 6


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        write_report(made_up(), tmp_path / "nowhere" / "report.html")


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(InputError, match=f"{name} is there, and is not a file"):
            write_report(made_up(shape=(1, 8)), tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()


def test_a_full_disk_leaves_the_old_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = written(tmp_path, made_up(shape=(1, 8)))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="no space left"):
        write_report(made_up(shape=(1, 9)), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == old
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_the_examples_of_the_documentation_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[2] / "docs" / "report.md"
    examples = re.findall(
        r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S
    )
    assert len(examples) == 2
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"posterior": made_up()}
    for example in examples:
        exec(example, names)
    assert names["statement"] == json.loads(made_up().statement.to_json())
