# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior: what it prints, its summary, and which draws are meant."""

import math
import pickle
from dataclasses import replace

import arviz as az
import numpy as np
import pytest
from posteriors import NOT_PRIVATE, STATEMENT, made_up, posterior_of
from shaped import shaped

from dpmcmc import InputError, Posterior
from dpmcmc.posterior.statement import Verdict
from dpmcmc.posterior.summary import caution, table

# What is printed.


def test_print_shows_a_table_the_verdict_and_where_the_statement_is() -> None:
    posterior = shaped()
    head, _, columns, *rest = str(posterior).splitlines()
    assert head.startswith("Posterior: 3 × 100 draws, ")
    assert f"{posterior.accepted.mean():.0%} accepted" in head
    assert head.endswith(STATEMENT.label)
    assert columns.split() == ["mean", "sd", "3%", "97%", "ess", "ess", "tail", "r-hat"]
    assert [line.split()[0] for line in rest[:9]] == [
        "mean",
        *(f"group.scale[{i}]" for i in range(2)),
        *(f"weights[{i}," for i in range(2) for _ in range(3)),
    ]
    assert str(STATEMENT.verdict) in rest
    assert "posterior.statement" in rest[-1]
    assert len(str(posterior).splitlines()) <= 20


def test_print_of_two_parameters_is_about_fifteen_lines() -> None:
    """However long the statement is: it is printed by itself."""
    noted = replace(STATEMENT, notes=("a long note. " * 50,) * 5)
    shown = str(made_up(statement=noted)).splitlines()
    assert len(shown) <= 15
    assert "a long note" not in "".join(shown)


def test_the_table_is_aligned_and_fits_a_terminal() -> None:
    shown = str(shaped())
    assert max(map(len, shown.splitlines())) <= 88
    lines = shown.splitlines()[2:12]
    assert len({len(line) for line in lines}) == 1


def test_repr_is_one_line_with_the_label() -> None:
    shown = repr(shaped())
    assert shown == (
        f"<Posterior: 3 × 100 draws of mean, group.scale, weights; {STATEMENT.label}>"
    )


def test_a_notebook_shows_the_table_and_the_whole_statement() -> None:
    verdict = Verdict("not usable", "1 < 2 & so on.")
    posterior = shaped(statement=replace(STATEMENT, verdict=verdict))
    html = posterior._repr_html_()
    assert posterior.statement._repr_html_() in html
    assert html.count("<tr>") == 1 + len(posterior.titles)
    assert "group.scale[1]" in html
    assert "1 &lt; 2 &amp; so on." in html
    assert STATEMENT.label in html


def test_not_private_is_said_wherever_the_result_is_shown() -> None:
    posterior = shaped(statement=NOT_PRIVATE)
    assert "NOT PRIVATE" in str(posterior).splitlines()[0]
    assert "NOT PRIVATE" in repr(posterior)
    assert "NOT PRIVATE" in posterior._repr_html_()


# Which draws are meant.


def with_noise() -> Posterior:
    """A slow chain, whose draws were moved by noise that is fresh for each."""
    noise = np.random.default_rng(7).normal(size=(3, 4, 200))
    own = np.cumsum(noise[0], axis=1)
    names = ("a", "b")
    posterior = posterior_of(dict.fromkeys(names, own))
    moved = dict(zip(names, own + 9 * noise[1:], strict=True))
    return replace(posterior, draws=moved)


def test_a_summary_is_of_the_draws_to_use() -> None:
    posterior, plain = shaped(noise_aware=True), shaped()
    assert posterior.is_noise_aware
    assert not plain.is_noise_aware
    found, own = posterior.summary(), plain.summary()
    np.testing.assert_allclose(found["sd"], 2 * own["sd"], rtol=1e-5)


def test_sizes_are_those_that_arviz_finds() -> None:
    posterior = with_noise()
    theirs = az.summary(posterior.to_arviz(), round_to="none")
    names = ["mean", "sd", "hdi_3%", "hdi_97%", "ess_bulk", "ess_tail", "r_hat"]
    np.testing.assert_allclose(posterior.summary(), theirs[names], rtol=1e-6)


def test_noise_hides_no_chain_that_has_not_mixed() -> None:
    posterior = with_noise()
    own = posterior_of(dict(posterior.chain_draws)).summary()
    assert (own["ess_bulk"] < posterior.summary()["ess_bulk"]).all()
    assert "r-hat above" in str(posterior)
    assert "r-hat above" in posterior._repr_html_()


def test_names_of_parameters_are_escaped_in_a_notebook() -> None:
    draws = {"a": np.random.default_rng(1).normal(size=(2, 50, 1))}
    posterior = posterior_of(draws, coords={"c": ["<i>"]}, dims={"a": ["c"]})
    assert "a[&lt;i&gt;]" in posterior._repr_html_()
    assert "<i>" not in posterior._repr_html_()


def test_names_of_places_are_shown() -> None:
    posterior = made_up(["effect"], shape=(2, 50))
    draws = {"effect": np.stack([posterior.draws["effect"]] * 2, axis=-1)}
    named = posterior_of(draws, coords={"drug": ["A", "B"]}, dims={"effect": ["drug"]})
    assert named.titles == ["effect[A]", "effect[B]"]
    assert list(named.summary().index) == named.titles
    assert "effect[B]" in str(named)


@pytest.mark.parametrize(
    "names",
    [
        {"coords": {"drug": ["A"]}, "dims": {"effect": ["drug"]}},
        {"coords": {"drug": ["A", "B"]}, "dims": {"other": ["drug"]}},
    ],
)
def test_names_that_do_not_fit_are_refused(names: dict) -> None:
    with pytest.raises(InputError):
        posterior_of({"effect": np.zeros((1, 5, 2))}, **names)


# The summary.


def test_summary_agrees_with_numpy() -> None:
    posterior = shaped(dtype="float64")
    summary = posterior.summary()
    for name, draws in [
        ("mean", posterior.draws["mean"]),
        ("group.scale[1]", posterior.draws["group.scale"][..., 1]),
        ("weights[1, 2]", posterior.draws["weights"][..., 1, 2]),
    ]:
        row = summary.loc[name]
        np.testing.assert_allclose(row["mean"], draws.mean(), rtol=1e-12)
        np.testing.assert_allclose(row["sd"], draws.std(ddof=1), rtol=1e-12)
        inside = (draws >= row["hdi_3%"]) & (draws <= row["hdi_97%"])
        assert abs(inside.mean() - 0.94) <= 2 / draws.size
        assert 100 < row["ess_bulk"] < 900
        assert 0.95 < row["r_hat"] < 1.05


def test_summary_leaves_out_the_warm_up() -> None:
    posterior = shaped()
    far_away = {name: values + 1e3 for name, values in posterior.warmup_draws.items()}
    moved = replace(posterior, warmup_draws=far_away)
    assert moved.summary().equals(posterior.summary())


def with_mean_moved(posterior: Posterior, by: np.ndarray) -> Posterior:
    draws = dict(posterior.draws)
    draws["mean"] = draws["mean"] + by
    return replace(posterior, draws=draws, chain_draws=draws)


def test_r_hat_of_many_chains_sees_one_that_is_elsewhere() -> None:
    moved = with_mean_moved(shaped(chains=4), np.array([0, 0, 0, 20])[:, None])
    r_hat = moved.summary()["r_hat"]
    assert r_hat["mean"] > 1.5
    assert r_hat.drop("mean").max() < 1.1


def test_r_hat_of_one_chain_compares_its_halves() -> None:
    posterior = shaped(chains=1)
    assert posterior.summary()["r_hat"].between(0.9, 1.1).all()
    moved = with_mean_moved(posterior, np.where(np.arange(100) < 50, 0.0, 20.0))
    r_hat = moved.summary()["r_hat"]
    assert r_hat["mean"] > 1.5
    assert r_hat.drop("mean").max() < 1.2


@pytest.mark.parametrize("chains", [1, 2, 4])
@pytest.mark.parametrize("draws", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("warmup", [0, 1])
def test_very_short_chains_print_quietly(
    chains: int, draws: int, warmup: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Warnings are errors here; nothing is logged or printed either."""
    posterior = shaped(chains=chains, draws=draws, warmup=warmup)
    shown = str(posterior)
    assert f"{chains} × {draws} draws" in shown
    assert "nan" not in shown
    if draws < 4:
        assert posterior.summary()["ess_bulk"].isna().all()
    assert capfd.readouterr() == ("", "")


def test_a_chain_that_never_moved_has_no_effective_size(
    capfd: pytest.CaptureFixture[str],
) -> None:
    still = {"a": np.full((2, 50), 0.1)}
    stuck = posterior_of(still, accepted=np.zeros((2, 50), bool))
    summary = stuck.summary()
    assert math.isnan(summary.loc["a", "ess_bulk"])
    assert math.isnan(summary.loc["a", "r_hat"])
    assert "0% accepted" in str(stuck)
    assert "no step was accepted" in str(stuck)
    assert capfd.readouterr() == ("", "")


def test_one_of_two_chains_that_never_moved_leaves_no_effective_size() -> None:
    draws = np.random.default_rng(1).normal(size=(2, 200))
    draws[1] = 0.3
    assert math.isnan(posterior_of({"a": draws}).summary().loc["a", "ess_bulk"])


@pytest.mark.parametrize(("count", "is_few"), [(8, True), (4000, False)])
def test_few_effective_draws_are_cautioned_about(count: int, is_few: bool) -> None:
    draws = {"a": np.random.default_rng(1).normal(size=(4, count))}
    posterior = posterior_of(draws)
    said = caution(posterior.chain_draws, posterior.accepted)
    assert (said is not None) == is_few
    assert ("Caution" in str(posterior)) == is_few


def test_chains_that_disagree_are_cautioned_about() -> None:
    draws = np.random.default_rng(2).normal(size=(2, 4000))
    draws[1] += 3
    posterior = posterior_of({"a": draws})
    assert "r-hat" in str(caution(posterior.chain_draws, posterior.accepted))


def test_a_narrow_posterior_is_shown_with_its_digits() -> None:
    draws = {"a": 1.7 + 1e-6 * np.random.default_rng(3).normal(size=(2, 500))}
    _, row = table(posterior_of(draws).summary())
    assert row.split()[1].startswith("1.700000")


# As an object.


def test_posteriors_are_compared_by_identity() -> None:
    posterior, other = shaped(), shaped()
    assert posterior == posterior  # noqa: PLR0124
    assert posterior != other
    assert len({posterior, other}) == 2


@pytest.mark.parametrize("noise_aware", [False, True])
def test_a_posterior_can_be_pickled(noise_aware: bool) -> None:
    posterior = made_up(noise_aware=noise_aware)
    again = pickle.loads(pickle.dumps(posterior))
    assert again.statement == posterior.statement
    assert again.is_noise_aware == noise_aware
    np.testing.assert_array_equal(again.accepted, posterior.accepted)
