# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's figures are made again, with their numbers, at a small size."""

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from scipy import stats

from dpmcmc import InputError, cli
from dpmcmc.experiments import paper_figures
from dpmcmc.experiments.accuracy import accuracy, checkpoints, running_moments
from dpmcmc.experiments.clipping import clipped_share
from dpmcmc.experiments.mixture import TRUTH, mixture_model, simulate_mixture
from dpmcmc.experiments.paper_chains import PAPER, QUICK, START, Study, whole_chain
from dpmcmc.experiments.reproduce import chosen_figures, reproduce
from dpmcmc.experiments.tempered_grid import tempered_grid
from dpmcmc.posterior.statement import round_up

TINY = replace(
    PAPER, records=4000, steps=1200, runs=3, pairs=8, fits=1, variances=(1.5, 2.0)
)


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(TINY, progress=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("figures") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_figures, "_SHARES", (1e-3, 1e-2))
        patch.setattr(paper_figures, "_COUNTS", (1000, 20_000))
        return folder, reproduce(["all"], folder, settings=TINY, progress=False)


def columns(path: Path) -> dict[str, np.ndarray]:
    with path.open(encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    return dict(zip(heading, np.array(rows, float).T, strict=True))


@pytest.mark.parametrize("name", paper_figures.FIGURES)
def test_every_figure_has_a_picture_and_numbers(
    made: tuple[Path, str], name: str
) -> None:
    folder, summary = made
    pixels = imread(folder / f"figure_{name}.png")[..., :3]
    assert min(pixels.shape[:2]) > 500
    assert pixels.std() > 0.05
    assert all(
        len(column) > 1 for column in columns(folder / f"figure_{name}.csv").values()
    )
    assert f"\n| {name} " in summary


def test_the_summary_is_written_and_says_what_it_is(made: tuple[Path, str]) -> None:
    folder, summary = made
    assert (folder / "summary.md").read_text(encoding="utf-8") == summary
    words = " ".join(summary.split())
    assert "1,200 steps (the paper: 20,000)" in words
    assert "variational inference with a budget of (0.21, 1e-06)" in words
    assert "Released first: 1,000 noisy sums" in words
    assert "mixtures fitted: 1" in words
    assert "NOT PRIVATE" in words
    assert "Privacy: ε = " in words


def test_the_cost_of_the_papers_run_stands_beside_the_papers(
    made: tuple[Path, str],
) -> None:
    numbers = columns(made[0] / "figure_1b.csv")
    paper, certified = (
        numbers[f"b = 1000, {kind}"][-1] for kind in ("paper", "certified")
    )
    assert paper == pytest.approx(1.0004, abs=1e-4)
    assert 0.001 < certified < 0.1 * paper
    assert PAPER.epsilons(20_000) == pytest.approx((paper, certified))
    row = next(line for line in made[1].splitlines() if line.startswith("| 1b"))
    assert "paper's accountant 1.0004" in row
    assert f"certified {round_up(certified)}" in row


def test_red_is_seen_where_a_chain_is_not_private(made: tuple[Path, str]) -> None:
    for name in ("2", "3"):
        pixels = imread(made[0] / f"figure_{name}.png")[..., :3]
        alarm = np.array([0xB0, 0x00, 0x20]) / 255
        assert (np.abs(pixels - alarm).max(axis=-1) < 0.02).sum() > 100, name


def test_the_samples_are_those_of_the_chains(made: tuple[Path, str]) -> None:
    numbers = columns(made[0] / "figure_2.csv")
    again = Study(TINY, progress=False).seita
    assert not again.statement.is_private
    np.testing.assert_allclose(numbers["Seita mean"], again.draws["mean"][0])
    assert {len(column) for column in numbers.values()} == {900}


def test_settings_are_the_papers() -> None:
    sizes = (PAPER.records, PAPER.batch, PAPER.tempered, PAPER.proposal_variance)
    assert sizes == (10**6, 1000, 100, 0.01)
    assert (PAPER.steps, PAPER.runs, PAPER.baseline_steps) == (20_000, 20, 5000)
    assert QUICK.records == PAPER.records
    assert PAPER.walk.scale == pytest.approx(0.1)


# What the figures are computed from.


def test_the_grid_has_the_moments_of_a_posterior_known_otherwise() -> None:
    """Tempered to next to nothing, the posterior is the prior: N(0, 10) and N(0, 1)."""
    records = simulate_mixture(TRUTH, 1000, np.random.default_rng(1))
    grid = tempered_grid(
        mixture_model(START), records, 1e-6, mean=(-16, 16), gap=(-6, 6), points=401
    )
    assert grid.moments()["mean"] == pytest.approx((0.0, 10**0.5), abs=2e-3)
    assert grid.moments()["gap"] == pytest.approx((0.0, 1.0), abs=2e-3)


def test_the_grid_agrees_with_a_sum_over_records(study: Study) -> None:
    """Bins change the log-density by less than a thousandth."""
    grid, tempering = study.grid, TINY.tempered / TINY.records
    sd = 2**0.5
    x = study.records.astype(float)

    def log_density(row: int, column: int) -> float:
        mean, gap = grid.mean[row], grid.gap[column]
        both = stats.norm.pdf(x, mean, sd) + stats.norm.pdf(x, mean + gap, sd)
        prior = stats.norm.logpdf(mean, 0, 10**0.5) + stats.norm.logpdf(gap)
        return float(tempering * np.log(both).sum() + prior)

    cells = [(80, 90), (95, 70), (70, 120)]
    exact = np.array([log_density(*cell) for cell in cells])
    found = np.log([grid.weights[cell] for cell in cells])
    np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=1e-3)


def test_contours_hold_their_share_and_draws_follow_the_grid(study: Study) -> None:
    outer, inner = study.grid.levels((0.5, 0.95))
    for level, share in ((outer, 0.95), (inner, 0.5)):
        held = study.grid.weights[study.grid.weights >= level].sum()
        assert held == pytest.approx(share, abs=0.01)
    draws = study.grid.draw(20_000, np.random.default_rng(2))
    for column, (mean, sd) in zip(draws.T, study.grid.moments().values(), strict=True):
        assert column.mean() == pytest.approx(mean, abs=5 * sd / 20_000**0.5)
        assert column.std() == pytest.approx(sd, rel=0.05)


def test_a_grid_that_is_too_narrow_is_refused(study: Study) -> None:
    with pytest.raises(InputError, match="edge of the grid"):
        tempered_grid(study.model, study.records, 100.0, gap=(-0.5, 0.5))


def test_clipped_shares_are_counted() -> None:
    """Without a gap the ratio is linear in the record: a normal tail."""
    records = simulate_mixture(
        {"mean": 0.0, "gap": 0.0}, 50_000, np.random.default_rng(3)
    )
    points = np.zeros((2, 2))
    directions = np.random.default_rng(4).standard_normal(points.shape)
    flat = replace(
        mixture_model(START),
        log_likelihood=lambda theta, record: theta["mean"] * record / 2,
    )
    variance, clip = 0.04, 0.15
    (found,) = clipped_share(
        flat, records, points, [variance], [clip], np.random.default_rng(4)
    )
    reach = clip / np.abs(variance**0.5 * directions[:, 0] / 2)
    expected = 2 * stats.norm.sf(reach / 2**0.5)
    assert found.share == pytest.approx(expected.mean(), abs=5 * 0.5 / 50_000**0.5)
    spread = expected.std(ddof=1) / 2**0.5
    assert found.standard_error == pytest.approx(spread, abs=0.01)


def test_running_moments_are_those_of_the_first_steps() -> None:
    chains = np.random.default_rng(5).normal(1.0, 2.0, (3, 50))
    found = running_moments(chains, [10, 50])
    np.testing.assert_allclose(found["mean"][:, 0], chains[:, :10].mean(axis=1))
    np.testing.assert_allclose(found["variance"][:, 1], chains.var(axis=1))


def test_accuracy_is_against_the_chain_and_the_grid(study: Study) -> None:
    table = accuracy(study)
    runs = whole_chain(study.runs, "gap")
    assert runs.shape == (3, 1200)
    truth = {
        "chain": whole_chain(study.exact, "gap").mean(),
        "grid": study.grid.moments()["gap"][0],
    }
    for against, value in truth.items():
        errors = np.abs(runs.mean(axis=1) - value)
        heading = f"mean of gap, against {against}"
        assert table[heading][-1] == pytest.approx(errors.mean())
        assert table[f"{heading}, standard error"][-1] == pytest.approx(
            errors.std(ddof=1) / 3**0.5
        )
    assert table["steps"] == [1000.0, 1200.0]
    assert np.all(np.diff(table["epsilon_paper"]) > 0)
    assert np.all(np.diff(table["epsilon_certified"]) > 0)


def test_the_checkpoints_go_from_a_thousand_to_the_end() -> None:
    for settings in (PAPER, QUICK):
        found = checkpoints(settings)
        assert (found[0], found[-1]) == (1000, settings.steps)
        assert len(found) > 5
    assert checkpoints(replace(PAPER, steps=50)) == [50]


# The command.


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["2a"], ["2"]),
        (["3", "1"], ["1a", "1b", "1c", "3"]),
        (["1b", "1b"], ["1b"]),
        (["6b", "5"], ["5", "6"]),
        (["all"], list(paper_figures.FIGURES)),
    ],
)
def test_figures_are_named_as_in_the_paper(words: list[str], names: list[str]) -> None:
    assert chosen_figures(words) == names


@pytest.mark.parametrize("word", ["7", "1d", "", "a", "1aa", "ALL"])
def test_an_unknown_figure_is_refused(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert cli.main(["reproduce", "1a", word, "--out", str(out)]) == 2
    assert "there is no figure" in capsys.readouterr().err
    assert not out.exists()


def test_no_figure_and_a_folder_that_cannot_be_made_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no figure was named"):
        chosen_figures([])
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be made"):
        reproduce(["6"], tmp_path / "file" / "out", progress=False)
    with pytest.raises(InputError, match="cannot be made"):
        reproduce(["6"], tmp_path / "file", progress=False)


def test_the_command_draws_and_prints_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["reproduce", "6", "--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") in printed.out
    assert "Figure 6" in printed.err  # the progress bar
    assert "Chains:" not in printed.out  # there are none in this figure


def test_asking_for_help_loads_no_jax() -> None:
    code = (
        "import sys, contextlib, dpmcmc.cli\n"
        "with contextlib.suppress(SystemExit):\n"
        "    dpmcmc.cli.main(['reproduce', '--help'])\n"
        "print('LOADED', 'jax' in sys.modules, 'matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "--quick" in done.stdout
    assert "LOADED False False" in done.stdout
