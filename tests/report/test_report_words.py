# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report says what is so: of the answer, the chain, the promise and the budget."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import SelfComposedDpEvent
from hypothesis import given
from hypothesis import strategies as st
from posteriors import NOT_PRIVATE, STATEMENT, made_up

from dpmcmc import InputError, Posterior
from dpmcmc.accounting import BarkerBit, GaussianRelease, certify_epsilon
from dpmcmc.report import Budget, Entry, Part, parts_of, write_report
from dpmcmc.report.charts import rank_counts
from dpmcmc.report.coordinates import coordinates_of, number
from dpmcmc.report.diagnostics import verdict


def words(folder: Path, posterior: Posterior, **told: object) -> str:
    """The page without its tags."""
    path = write_report(posterior, folder / "r.html", **told)  # type: ignore[arg-type]
    body = path.read_text(encoding="utf-8").split("<body>")[1]
    return " ".join(re.sub(r"<[^>]*>", " ", body).replace("’", "'").split())


def test_the_table_has_the_numbers_of_the_summary(tmp_path: Path) -> None:
    posterior = made_up(noise_aware=True)
    text = words(tmp_path, posterior)
    summary = posterior.summary()
    for one in coordinates_of(posterior):
        row = summary.loc[one.title]
        assert one.mean == row["mean"]
        assert (one.low_94, one.high_94) == (row["hdi_3%"], row["hdi_97%"])
        inside = (one.honest >= one.low_90) & (one.honest <= one.high_90)
        assert inside.mean() == pytest.approx(0.9, abs=0.002)
        assert f"{one.title} {one.show(one.mean)} {one.sd:.3}" in text


def test_whole_numbers_are_shown_as_such(tmp_path: Path) -> None:
    counts = np.random.default_rng(0).integers(0, 2, (2, 500))
    text = words(tmp_path, made_up(draws={"k": counts}, accepted=counts == 0))
    assert f"k {counts.mean():.2f} {counts.std(ddof=1):.3f} 0 to 1 0 to 1" in text


def test_noise_aware_draws_are_named_and_used(tmp_path: Path) -> None:
    plain, aware = made_up(), made_up(noise_aware=True)
    assert "Noise-aware" not in words(tmp_path, plain)
    assert "Noise-aware draws. To each draw" in words(tmp_path, aware)
    one, other = coordinates_of(plain)[0], coordinates_of(aware)[0]
    assert other.sd == pytest.approx(2 * one.sd)
    assert other.ess == one.ess


def test_what_was_asked_is_told_in_its_order(tmp_path: Path) -> None:
    text = words(
        tmp_path, made_up(), asked={"model": "heights.py:model", "data set": "people"}
    )
    assert "Model heights.py:model Data set people Records 100,000" in text
    assert "Records many" in words(tmp_path, made_up(), asked={"records": "many"})


def test_tempering_clipping_and_surrogates_are_explained(tmp_path: Path) -> None:
    plain = words(tmp_path, made_up(statement=replace(STATEMENT, clip=None)))
    assert "Tempered." not in plain
    special = replace(
        STATEMENT,
        tempered=100.0,
        released_first=("one noisy sum (control variates: the gradient)",),
        prepared=("age clamped to [0, 120]",),
    )
    text = words(tmp_path, made_up(statement=special))
    assert "Tempered. The likelihood was made to count for 100 records" in text
    assert "Clipped. At each step one record could push by at most ±0.0125" in text
    assert "Control variates. The bulk" in text
    assert "Prepared. Before the model read it" in text
    assert "It is tempered: the records count for only 100" in text


def test_a_good_run_and_a_bad_one_are_told_apart() -> None:
    assert "many enough" in verdict(coordinates_of(made_up()))
    drifting = verdict(coordinates_of(made_up(shape=(1, 900), drift=9.0)))
    assert "too short to say much about mean and scale" in drifting
    many = [f"w{place}" for place in range(40)]
    short = verdict(coordinates_of(made_up(many, shape=(2, 20))))
    assert "w0, w1, w2, w3, w4 and 35 others" in short


def test_chains_that_disagree_are_called_so(tmp_path: Path) -> None:
    apart = made_up(shape=(60, 100))
    apart.draws["mean"][:] += np.random.default_rng(0).normal(0, 0.4, (60, 1))
    one, other = coordinates_of(apart)
    assert one.ess > 100
    assert one.verdict == "parts of the run disagree"
    assert not other.is_weak
    assert "Parts of the run disagree about mean:" in words(tmp_path, apart)


def test_a_chain_that_stood_still_is_called_so(tmp_path: Path) -> None:
    still = made_up(draws={"x": np.zeros((1, 80))}, accepted=np.zeros((1, 80), bool))
    assert "never moved in x" in words(tmp_path, still)


def test_ranks_of_like_chains_are_even_and_of_others_are_not() -> None:
    like = rank_counts(coordinates_of(made_up(shape=(4, 2000)))[0])
    assert like.shape == (4, 20)
    np.testing.assert_allclose(like.mean(axis=1), 1)
    # 100 draws a bin, sd 0.087 after division: 5 sd, 80 bins, alarm below 1e-4.
    assert np.abs(like - 1).max() < 0.45
    moved = made_up(shape=(4, 2000))
    moved.draws["mean"][2] += 2
    assert rank_counts(coordinates_of(moved)[0]).max() > 2
    single = rank_counts(coordinates_of(made_up(shape=(1, 2000), drift=2.0))[0])
    assert single.shape[0] == 2
    assert single.max() > 1.5


@pytest.mark.parametrize(
    ("epsilon", "sure"), [(0.1, "52.5%"), (1.0, "73.2%"), (4.0, "98.3%")]
)
def test_the_promise_is_what_bayes_rule_allows(
    tmp_path: Path, epsilon: float, sure: str
) -> None:
    statement = replace(STATEMENT, epsilon=epsilon)
    text = words(tmp_path, made_up(statement=statement))
    assert f"at most {sure} sure after reading it" in text
    assert "one in 1,000,000" in text
    assert ("weakly" in text) == (epsilon > 3)
    exact = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert 0 <= float(sure[:-1]) / 100 - exact < 0.001


def test_an_enormous_epsilon_promises_nothing(tmp_path: Path) -> None:
    text = words(tmp_path, made_up(statement=replace(STATEMENT, epsilon=2e4)))
    assert "nearly 100%" in text
    assert "no promise" in text


def test_the_limits_are_told(tmp_path: Path) -> None:
    text = words(tmp_path, made_up())
    for limit in (
        "How many records there are.",
        "People with several records",
        "What is true of the population.",
        "How the answer is used.",
        "Other releases.",
    ):
        assert limit in text


def test_a_pure_chain_spends_all_on_its_bits(tmp_path: Path) -> None:
    text = words(tmp_path, made_up())
    assert "accept-or-reject bits ε = 1" in text
    assert "500 of them (25%) are warm-up" in text


def test_a_chain_that_asks_nothing_is_told_apart(tmp_path: Path) -> None:
    statement = replace(
        STATEMENT,
        asks_records=False,
        decided="",
        clip=None,
        released_first=("one noisy sum (sufficient statistics: x and x²)",),
    )
    text = words(tmp_path, made_up(statement=statement, noise_aware=True))
    assert "they say all that it can learn" in text
    assert "They are draws of the posterior given sums" in text
    assert "noisy sums ε = 1" in text
    assert "its steps are free" in text
    assert "Clipped." not in text


def test_parts_are_priced_by_the_accountants(tmp_path: Path) -> None:
    bit = BarkerBit(clip=0.01, records=1000)
    charges = [
        ("start", SelfComposedDpEvent(GaussianRelease(2 / 9), 2)),
        ("chunk-000000", SelfComposedDpEvent(bit, 30)),
        ("chunk-000001", SelfComposedDpEvent(bit, 20)),
        ("other", bit),
    ]
    start, bits, other = parts_of(charges, 1e-6)
    together = SelfComposedDpEvent(bit, 50)
    assert bits.name == "accept-or-reject bits"
    assert bits.epsilon == certify_epsilon(together, 1e-6).epsilon
    assert start.epsilon == certify_epsilon(charges[0][1], 1e-6).epsilon
    assert other == Part("other", certify_epsilon(bit, 1e-6).epsilon)
    text = words(tmp_path, made_up(), parts=(start, bits))
    assert "finding a start ε = " in text
    assert "all together ε = " in text


def test_a_run_without_a_budget_shows_no_costs(tmp_path: Path) -> None:
    text = words(tmp_path, made_up(statement=NOT_PRIVATE), parts=[Part("bits", 0.1)])
    assert "This run had no budget" in text
    assert "What each part costs" not in text


def test_the_ledger_of_the_data_set_is_shown(tmp_path: Path) -> None:
    entries = (
        Entry("k3f9", "ana", "first look", 0.3, "closed"),
        Entry("z0aa", "bo", "age model", None, "open", 0.31),
    )
    budget = Budget("people", 3.0, 1e-6, 0.42, 0.11, 0.47, entries, "z0aa")
    text = words(tmp_path, made_up(), budget=budget)
    assert "42.0% spent 11.0% reserved by open runs 47.0% left" in text
    assert "k3f9 ana first look – 0.3 closed" in text
    assert "z0aa (this report) bo age model 31.0% – open" in text


@pytest.mark.parametrize(
    "shares", [(0.5, 0.5, 0.5), (-0.1, 0.1, 1.0), (math.nan, 0.5, 0.5), (2.0, 0, -1)]
)
def test_shares_that_are_none_are_refused(shares: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match="shares from 0 to 1"):
        Budget("people", 3.0, 1e-6, *shares)


@given(
    value=st.floats(-1e6, 1e6),
    sd=st.floats(1e-8, 1e5),
)
def test_numbers_are_shown_to_a_twentieth_of_their_deviation(
    value: float, sd: float
) -> None:
    shown = float(number(value, sd).replace("\u2212", "-"))
    # Numbers far larger than their deviation are shown to five digits at least.
    assert abs(shown - value) <= max(0.05 * sd, 5e-5 * abs(value) * (sd < 1e-9), 1e-10)
