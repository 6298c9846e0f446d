# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures carry the guarantee, say in red where there is none, and always appear."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from posteriors import NOT_PRIVATE, STATEMENT, made_up, posterior_of

from dpmcmc.errors import InputError
from dpmcmc.report import Budget, plot_budget, plot_posterior
from dpmcmc.report.pictures import COLOURS, coordinates_of, remark

NORMAL = np.random.default_rng(3).normal(size=(2, 60))


def with_holes(value: float) -> np.ndarray:
    draws = NORMAL.copy()
    draws[1, 3:7] = value
    return draws


def captions(figure: Figure) -> dict[str, str]:
    """Text and colour of what is written above the plots."""
    texts = [text for part in figure.subfigs for text in part.texts]
    return {text.get_text(): text.get_color() for text in texts}


def test_a_private_picture_states_its_budget() -> None:
    shown = captions(plot_posterior(made_up()))
    assert any(STATEMENT.label in text for text in shown)
    assert not any("NOT PRIVATE" in text for text in shown)


def test_a_picture_that_is_not_private_says_so_in_red() -> None:
    both = {"ours": made_up(), "reference": made_up(statement=NOT_PRIVATE)}
    shown = captions(plot_posterior(both))
    (alarm,) = (text for text in shown if "NOT PRIVATE" in text)
    assert alarm.startswith("reference")
    assert shown[alarm] == "#B00020"


def test_each_chain_has_its_colour() -> None:
    density, trace = plot_posterior(made_up(["x"], shape=(3, 50))).axes
    for axes in (density, trace):
        assert tuple(line.get_color() for line in axes.lines) == COLOURS[:3]


def test_densities_are_of_the_draws_to_use_and_traces_of_the_chain() -> None:
    posterior = made_up(["x"], noise_aware=True)
    density, trace = plot_posterior(posterior).axes
    ends = [line.get_xdata()[[0, -1]] for line in density.lines]
    for chain, (low, high) in zip(posterior.draws["x"], ends, strict=True):
        assert (low, high) == pytest.approx((chain.min(), chain.max()))
    own = posterior.chain_draws["x"]
    assert trace.lines[0].get_ydata()[0] == own[0, 0]
    assert trace.lines[1].get_ydata()[-1] == own[1, -1]


def test_a_density_is_the_density() -> None:
    """Of 20,000 normal draws: its mode is within 5% of the normal's, fixed seed."""
    draws = np.random.default_rng(0).normal(3, 2, size=(1, 20_000))
    density, _ = plot_posterior(posterior_of({"x": draws})).axes
    grid, height = density.lines[0].get_data()
    assert grid[height.argmax()] == pytest.approx(3, abs=0.3)
    assert np.trapezoid(height, grid) == pytest.approx(1, abs=0.02)


def test_densities_of_several_posteriors_are_on_one_scale() -> None:
    posterior = made_up(["x"], noise_aware=True)
    own = replace(posterior, draws=posterior.chain_draws)
    density, _ = plot_posterior({"twice as wide": posterior, "own": own}).axes
    # The last is drawn first.
    narrow, wide = (line.get_ydata().max() for line in density.lines)
    assert narrow == pytest.approx(2 * wide)
    assert density.get_ylim()[1] > narrow


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        (np.full((2, 60), 2.5), "Every draw is 2.5."),
        (np.full((2, 60), 3), "Every draw is 3."),
        (with_holes(np.inf), "4 of 120 draws are not finite."),
        (with_holes(-np.inf), "4 of 120 draws are not finite."),
        (with_holes(np.nan), "4 of 120 draws are not finite."),
        (1e300 * NORMAL, "No draw is a finite number."),
        (np.full((2, 60), np.nan), "No draw is a finite number."),
        (np.stack([NORMAL[0], np.ones(60)]), ""),
        (np.where(np.arange(120).reshape(2, 60) == 7, 1.0, 0.0), ""),
        (np.ones((1, 1)), "Every draw is 1."),
        (1e-200 * NORMAL, ""),
        (1e9 + 1e-3 * NORMAL, ""),
        ((1e30 * NORMAL).astype(np.float32), ""),
        (NORMAL > 0, ""),
        (np.random.default_rng(0).integers(0, 3000, (2, 60)), ""),
    ],
)
def test_any_draws_are_drawn_and_what_is_left_out_is_said(
    tmp_path: Path, draws: np.ndarray, words: str
) -> None:
    posterior = posterior_of({"x": draws}, accepted=np.zeros(draws.shape, bool))
    assert remark(coordinates_of(posterior)[0].draws) == words
    figure = plot_posterior(posterior, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert figure.axes[1].get_title(loc="right") == words
    assert any("no step was accepted" in text for text in captions(figure))


def test_a_chain_that_hardly_moved_leaves_the_others_visible() -> None:
    draws = np.stack([NORMAL[0], 1e-6 * NORMAL[1]])
    density, _ = plot_posterior(posterior_of({"x": draws})).axes
    highest = [line.get_ydata().max() for line in density.lines]
    assert highest[1] > 100 * highest[0]
    assert density.get_ylim()[1] < 10 * highest[0]


def test_discrete_parameters_have_bars() -> None:
    draws = np.random.default_rng(0).integers(1, 5, (2, 400))
    density, _ = plot_posterior(posterior_of({"k": draws})).axes
    heights = [bar.get_height() for bar in density.patches]
    assert heights == pytest.approx([(draws == k).mean() for k in (1, 2, 3, 4)])
    assert all(tick % 1 == 0 for tick in density.get_xticks())


def test_names_stand_over_their_rows_as_they_are() -> None:
    names = ("age", "$\\frac{", "Größe in µm", "доход", "a_long_name_" * 20)
    draws = np.random.default_rng(1).normal(size=(2, 50, len(names)))
    posterior = posterior_of({"b": draws}, coords={"p": names}, dims={"b": ["p"]})
    figure = plot_posterior(posterior)
    figure.canvas.draw()
    titles = [axes.get_title(loc="left") for axes in figure.axes[::2]]
    assert titles[:4] == [f"b[{name}]" for name in names[:4]]
    assert titles[4].endswith("…")
    assert len(titles[4]) <= 66


def test_of_many_parameters_the_first_are_shown_and_the_caption_says_so() -> None:
    many = np.random.default_rng(0).normal(size=(1, 20, 60))
    figure = plot_posterior(posterior_of({"w": many}))
    assert len(figure.axes) == 2 * 12
    assert any("the first 12 of 60" in text for text in captions(figure))


def test_posteriors_of_different_models_are_refused() -> None:
    with pytest.raises(InputError, match="posteriors of one model"):
        plot_posterior({"one": made_up(["a"]), "other": made_up(["b"])})
    with pytest.raises(InputError, match="there are 0 posteriors"):
        plot_posterior({})


def test_a_kind_of_file_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its ending must be one of"):
        plot_posterior(made_up(["x"]), tmp_path / "picture.doc")


@pytest.mark.parametrize("parts", [(0.4, 0.1, 0.5), (0.0, 0.0, 1.0)])
def test_the_bar_of_a_budget_has_its_fractions(
    parts: tuple[float, float, float], tmp_path: Path
) -> None:
    budget = Budget("people $x$", 3.0, 1e-6, *parts)
    figure = plot_budget(budget, tmp_path / "budget.svg")
    (axes,) = figure.axes
    assert [bar.get_width() / 100 for bar in axes.patches] == pytest.approx(parts)
    names = [name.split()[0] for name in axes.get_legend_handles_labels()[1]]
    assert names == ["spent", "reserved", "left"]
    assert (tmp_path / "budget.svg").exists()


def test_several_posteriors_may_have_different_lengths() -> None:
    longer = replace(made_up(["x"], shape=(2, 900)), statement=NOT_PRIVATE)
    _, trace = plot_posterior({"a": made_up(["x"]), "b": longer}).axes
    assert {line.get_xdata()[-1] for line in trace.lines} == {1.0}
