# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures carry the guarantee, and say in red where there is none."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import dpmcmc

MODEL = dpmcmc.Model(
    log_likelihood=lambda theta, record: -0.5 * (record - theta["place"][0]) ** 2,
    log_prior=lambda theta: -0.5 * (theta["place"] ** 2).sum(),
    initial={"place": np.zeros(2)},
)
RECORDS = np.random.default_rng(3).normal(size=50)
WALK = dpmcmc.RandomWalk(scale=0.3)


@pytest.fixture(scope="module")
def private() -> dpmcmc.Posterior:
    return dpmcmc.sample(
        MODEL, RECORDS, steps=60, delta=1e-6, clip=0.1, proposal=WALK, progress=False
    )


@pytest.fixture(scope="module")
def not_private() -> dpmcmc.Posterior:
    return dpmcmc.sample_not_private(
        MODEL, RECORDS, steps=60, chains=2, proposal=WALK, seed=1, progress=False
    )


def captions(figure: Figure) -> dict[str, str]:
    """Text and colour of what is written above the plots."""
    texts = [text for part in figure.subfigs for text in part.texts]
    return {text.get_text(): text.get_color() for text in texts}


def test_a_private_picture_states_its_budget(private: dpmcmc.Posterior) -> None:
    shown = captions(dpmcmc.plot_posterior(private))
    assert any(private.statement.label in text for text in shown)
    assert not any("NOT PRIVATE" in text for text in shown)


def test_a_picture_that_is_not_private_says_so_in_red(
    private: dpmcmc.Posterior, not_private: dpmcmc.Posterior
) -> None:
    both = {"ours": private, "reference": not_private}
    shown = captions(dpmcmc.plot_posterior(both))
    (alarm,) = (text for text in shown if "NOT PRIVATE" in text)
    assert alarm.startswith("reference")
    assert shown[alarm] == "#B00020"


def test_every_coordinate_has_a_row(private: dpmcmc.Posterior) -> None:
    figure = dpmcmc.plot_posterior(private)
    labels = {axes.get_ylabel() for part in figure.subfigs for axes in part.axes}
    assert {"place[0]", "place[1]"} <= labels


def test_a_file_is_written(private: dpmcmc.Posterior, tmp_path: Path) -> None:
    dpmcmc.plot_posterior(private, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_chain_that_never_moved_can_be_drawn() -> None:
    stuck = dpmcmc.sample_not_private(
        MODEL,
        RECORDS,
        steps=8,
        proposal=dpmcmc.RandomWalk(scale=1e4),
        seed=0,
        progress=False,
    )
    assert not stuck.accepted.any()
    dpmcmc.plot_posterior(stuck)


def test_posteriors_of_different_models_are_refused(private: dpmcmc.Posterior) -> None:
    other = dpmcmc.sample_not_private(
        dpmcmc.Model(lambda theta, record: -theta, lambda theta: -(theta**2), 0.0),
        RECORDS,
        steps=8,
        proposal=WALK,
        progress=False,
    )
    with pytest.raises(dpmcmc.InputError, match="posteriors of one model"):
        dpmcmc.plot_posterior({"one": private, "other": other})
