# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One call sets aside every way before it chooses, and goes on as it has chosen."""

import numpy as np
import pytest
from custodians import RECORDS, Custodian, Killed, all_of, run

from dpmcmc import InputError, RandomWalk
from dpmcmc.accounting.registry import flatten
from dpmcmc.rehearsal import Chosen
from dpmcmc.rehearsal.shares import Split


def test_one_call_reserves_every_way_and_takes_up_its_choice() -> None:
    told = {"clip": "", "proposal": ""}
    custodian = Custodian(dies_at="keep chunk-000003")
    with pytest.raises(Killed):
        run(custodian, **told)
    kept = Chosen.of_arrays(custodian.parts["choice"])
    assert len(custodian.totals) > 1
    posterior = run(custodian, **told)
    said = " ".join(posterior.settings["choice"].split())
    assert said.startswith(f"Way: {kept.name}; as chosen before")
    assert kept.words in said
    # what was rehearsed before is not said to be blind now, and the other way round
    assert ("chosen without a rehearsal" in posterior.statement.text) == bool(
        custodian.parts["choice"]["blind"]
    )
    custodian.parts["choice"] = {**custodian.parts["choice"], "blind": np.array(False)}
    again = run(custodian, **told).statement.text
    assert "chosen without a rehearsal" not in again
    charged = all_of(custodian.charged.values())
    assert charged in [flatten(total) for total in custodian.totals]


def broken_off_after_its_choice() -> Custodian:
    custodian = Custodian(dies_at="charge control")
    with pytest.raises(Killed):
        run(custodian, clip="", proposal="")
    return custodian


def test_a_run_goes_on_with_all_that_was_chosen() -> None:
    """Share, part and bound are those that were kept, as plain arrays."""
    custodian = broken_off_after_its_choice()
    chosen = Chosen("control variates", Split(0.75, 0.3, 6.0))
    custodian.parts["choice"] = chosen.as_arrays()
    posterior = run(custodian, clip="", proposal="")
    said = " ".join(posterior.settings["choice"].split())
    assert said.startswith("Way: control variates; as chosen before")
    assert chosen.words in said
    assert "the gradient is longer than 6 or" in posterior.statement.text
    charged = all_of(custodian.charged.values())
    assert charged in [flatten(total) for total in custodian.totals]


@pytest.mark.parametrize(
    ("chosen", "steps"),
    [
        (Chosen("control variates", Split(0.75, 0.3, 6.0), None, 4), 1000),
        (Chosen("plain clipping", None, 100.0, 2), 1500),
    ],
)
def test_a_run_goes_on_with_the_chains_and_the_tempering_that_were_kept(
    chosen: Chosen, steps: int
) -> None:
    """Also when it is broken off once more, and for what was set aside for one chain.

    A walk is made of the start, which has the shape of the tempered posterior.
    """
    custodian = broken_off_after_its_choice()
    custodian.parts["choice"] = chosen.as_arrays()
    custodian.dies_at = "keep chunk-000003"
    with pytest.raises(Killed):
        run(custodian, clip="", proposal="")
    posterior = run(custodian, clip="", proposal="")
    statement = posterior.statement
    assert (statement.chains, statement.steps) == (chosen.chains, steps)
    assert statement.tempered == (chosen.tempering or len(RECORDS))
    if chosen.tempering is not None:
        shape = custodian.parts["start"]["covariance"] * len(RECORDS) / chosen.tempering
        assert repr(RandomWalk(0.8**2 * shape)) == posterior.settings["proposal"]
    charged = all_of(custodian.charged.values())
    assert charged in [flatten(total) for total in custodian.totals]


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({"way": np.array("shrinking"), "blind": np.array(True)}, "another version"),
        (Chosen("by hand").as_arrays(), "'by hand', which is no way for this model"),
        (
            Chosen("plain clipping", None, None, 3).as_arrays(),
            "'plain clipping', which",
        ),
        (
            Chosen("plain clipping", None, None, 0).as_arrays(),
            "'plain clipping', which",
        ),
        (
            Chosen("plain clipping", Split(0.9, 0.3, 6.0)).as_arrays(),
            "'plain clipping', which",
        ),
        (
            Chosen("control variates", Split(0.5, 0.3, 6.0)).as_arrays(),
            "'control variates', which",
        ),
    ],
)
def test_a_choice_that_cannot_be_taken_up_is_refused(
    kept: dict[str, np.ndarray], words: str
) -> None:
    custodian = broken_off_after_its_choice()
    custodian.parts["choice"] = kept
    charged = dict(custodian.charged)
    with pytest.raises(InputError, match=words):
        run(custodian, clip="", proposal="")
    assert custodian.charged == charged
