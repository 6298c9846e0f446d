# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that were interrupted: what was kept is returned, and the rest goes on from it.

Tapes are seeded here, so that bits of one run can be compared with those of another.
"""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import all_bits, all_draws, assert_same_draws, chain_of, private

from dpmcmc import (
    Adaptive,
    InputError,
    Model,
    Posterior,
    RandomWalk,
    StoppedError,
    SufficientStatistics,
    models,
    sample,
)
from dpmcmc.private import Tape
from dpmcmc.proposals.fitting import fit_proposal
from dpmcmc.sampling import chain as stage
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.stages import Events, Part

STEPS = 40


@pytest.fixture(autouse=True)
def numbered_tapes(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Fresh tapes are seeded by 0, 1, …; what is returned sets the next number."""
    numbers = itertools.count()

    def fresh(cls: type[Tape], **_: object) -> Tape:
        return cls.seeded(next(numbers))

    def restart(number: int) -> None:
        nonlocal numbers
        numbers = itertools.count(number)

    monkeypatch.setattr(Tape, "fresh", classmethod(fresh))
    return restart


class Fragile(MemoryCheckpoint):
    """Raises an error once, when a number of parts have been kept, or charged."""

    def __init__(self, error: BaseException, *, kept: int = -1, charged: int = -1):
        super().__init__()
        self.error, self.left = error, {"keep": kept, "charge": charged}

    def charge(self, stage: str, part: str, events: Events) -> None:
        self._count("charge")
        super().charge(stage, part, events)

    def keep(self, stage: str, part: Part) -> None:
        self._count("keep")
        super().keep(stage, part)

    def _count(self, what: str) -> None:
        self.left[what] -= 1
        if self.left[what] == -1:
            raise self.error


def run(model: Model, records: Any, **changes: Any) -> Posterior:
    return private(model, records, steps=STEPS, chains=2, warmup=0, **changes)


def test_bits_before_an_interruption_are_those_of_a_whole_run(
    model: Model, records: np.ndarray, numbered_tapes: Callable[[int], None]
) -> None:
    whole = run(model, records)
    numbered_tapes(0)
    part = run(model, records, checkpoint=Fragile(KeyboardInterrupt(), kept=10))
    assert chain_of(part) == {"chains": 2, "steps": STEPS, "made": 10}
    assert part.statement.epsilon == whole.statement.epsilon
    np.testing.assert_array_equal(all_bits(part), whole.accepted[:, :10])
    np.testing.assert_array_equal(
        all_draws(part, "mean"), whole.draws["mean"][:, :10], strict=True
    )


def test_a_chain_goes_on_as_one_that_starts_at_its_last_kept_point(
    model: Model, records: np.ndarray, numbered_tapes: Callable[[int], None]
) -> None:
    """Bit for bit; steps that were charged and lost are not made again."""
    checkpoint = Fragile(KeyboardInterrupt(), kept=10)
    first = run(model, records, checkpoint=checkpoint)
    last = {"mean": first.draws["mean"][:, -1]}
    lost = len(checkpoint.charged("chain")) - 10
    whole = run(model, records, checkpoint=checkpoint)
    made = STEPS - lost
    assert lost > 0
    assert chain_of(whole)["made"] == made
    np.testing.assert_array_equal(all_bits(whole)[:, :10], all_bits(first))
    for k in range(2):
        numbered_tapes(1)  # the tape with which it went on
        start = {"mean": last["mean"][k]}
        other = run(model, records, start=start)
        np.testing.assert_array_equal(
            whole.draws["mean"][k, 10:], other.draws["mean"][k, : made - 10]
        )
        np.testing.assert_array_equal(
            whole.accepted[k, 10:], other.accepted[k, : made - 10]
        )


def test_every_step_is_charged_once(model: Model, records: np.ndarray) -> None:
    checkpoint = Fragile(KeyboardInterrupt(), kept=10)
    for _ in range(2):
        posterior = run(model, records, checkpoint=checkpoint)
    charged = checkpoint.charged("chain").values()
    assert sum(sum(events.values()) for events in charged) == 2 * STEPS
    assert len({part.name for part in checkpoint.kept("chain")}) == len(
        checkpoint.kept("chain")
    )
    assert any("interrupted" in row.sentence for row in posterior.statement.stages)


def test_a_finished_run_is_returned_again_and_charged_no_more(
    model: Model, records: np.ndarray
) -> None:
    checkpoint = MemoryCheckpoint()
    first = run(model, records, checkpoint=checkpoint)
    before = checkpoint.charged("chain")
    assert_same_draws(run(model, records, checkpoint=checkpoint), first)
    assert checkpoint.charged("chain") == before


def test_a_run_that_failed_can_go_on_with_the_checkpoint_of_its_error(
    model: Model, records: np.ndarray
) -> None:
    with pytest.raises(StoppedError) as stopped:
        run(model, records, checkpoint=Fragile(OSError("a full disk"), kept=10))
    assert stopped.value.stage == "chain"
    posterior = run(model, records, checkpoint=stopped.value.checkpoint)
    assert 10 < chain_of(posterior)["made"] < STEPS


def test_a_refused_first_charge_is_raised_as_it_is(
    model: Model, records: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No record was read, and the boundary never saw them."""

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the boundary was entered")

    monkeypatch.setattr(stage, "Chains", never)
    refused = InputError("no budget is left.")
    with pytest.raises(InputError, match="no budget"):
        run(model, records, checkpoint=Fragile(refused, charged=0))


def test_other_settings_are_refused(model: Model, records: np.ndarray) -> None:
    checkpoint = MemoryCheckpoint()
    run(model, records, checkpoint=checkpoint)
    with pytest.raises(InputError, match="checkpoint"):
        run(model, records, checkpoint=checkpoint, clip=0.06)


def test_nothing_kept_is_no_posterior(model: Model, records: np.ndarray) -> None:
    """Every step was paid for, and all of them were lost."""
    checkpoint = Fragile(KeyboardInterrupt(), kept=0)
    with pytest.raises(KeyboardInterrupt):
        run(model, records, checkpoint=checkpoint)
    for number in range(STEPS):
        events = next(iter(checkpoint.charged("chain").values()))
        checkpoint.charge("chain", f"chunk-{number:06d}", events)
    with pytest.raises(InputError, match="interrupted"):
        run(model, records, checkpoint=checkpoint)


# Sums that are released once.

COUNTS = {"x": np.random.default_rng(3).poisson(2.5, 500).astype(float)}


def by_sum(checkpoint: MemoryCheckpoint) -> Posterior:
    return sample(
        models.poisson(20.0),
        COUNTS,
        epsilon=1.0,
        delta=1e-5,
        steps=STEPS,
        method=SufficientStatistics(),
        checkpoint=checkpoint,
        progress=False,
    )


def test_a_sum_is_released_once_and_a_free_chain_made_in_full() -> None:
    checkpoint = Fragile(KeyboardInterrupt(), kept=5)
    part = by_sum(checkpoint)
    (total,) = checkpoint.kept("sum")
    posterior = by_sum(checkpoint)
    assert chain_of(part)["made"] == 4
    assert chain_of(posterior)["made"] == STEPS
    assert checkpoint.kept("sum") == (total,)
    assert list(checkpoint.charged("sum")) == ["sum"]
    assert checkpoint.charged("chain") == {}


def test_a_sum_that_was_lost_ends_the_run() -> None:
    checkpoint = Fragile(KeyboardInterrupt(), kept=0)
    with pytest.raises(KeyboardInterrupt):
        by_sum(checkpoint)
    with pytest.raises(StoppedError) as stopped:
        by_sum(checkpoint)
    assert stopped.value.stage == "sum"
    assert isinstance(stopped.value.__cause__, InputError)


# The default method, whose chain is not its last stage.


@pytest.mark.usefixtures("deciding")
def test_draws_of_the_default_method_are_returned_and_the_run_goes_on() -> None:
    model = Model(
        lambda theta, record: -0.5 * (record - theta) ** 2,
        lambda theta: -0.5 * theta**2,
        0.0,
    )
    checkpoint = StopsInChain()

    def run_default() -> Posterior:
        return sample(
            model,
            np.random.default_rng(2).normal(0.5, 1.0, 1000),
            epsilon=2.0,
            delta=1e-5,
            steps=STEPS,
            checkpoint=checkpoint,
            progress=False,
        )

    part = run_default()
    assert chain_of(part)["made"] == 10
    assert not checkpoint.charged("check")
    fitted = checkpoint.kept("fit")
    whole = run_default()
    assert chain_of(whole)["made"] > 10
    assert checkpoint.kept("check")
    assert checkpoint.kept("fit") == fitted
    np.testing.assert_array_equal(all_bits(whole)[:, :10], all_bits(part))


class StopsInChain(MemoryCheckpoint):
    """Interrupts a chain once, when ten of its parts have been kept."""

    has_stopped = False

    def keep(self, stage: str, part: Part) -> None:
        if stage == "chain" and len(self.kept("chain")) == 10 and not self.has_stopped:
            self.has_stopped = True
            raise KeyboardInterrupt
        super().keep(stage, part)


# Proposals that adapt.


def test_a_proposal_adapts_again_to_what_was_kept(
    model: Model, records: np.ndarray
) -> None:
    """To the rows of the chunks one by one, as it did when they were made."""
    proposal = Adaptive(RandomWalk(0.5))
    posterior = run(model, records, proposal=proposal)
    rows = stage.Released({"mean": posterior.draws["mean"].T}, posterior.accepted.T)
    chunks = [jax.tree.map(lambda leaf, k=k: leaf[k : k + 10], rows) for k in (0, 10)]
    kernel = fit_proposal(proposal, {"mean": jnp.float32(0)}, 100)
    replayed = stage._adapted(kernel, chunks)
    with jax.enable_x64(True):
        by_hand = jax.tree.map(jnp.asarray, kernel)
        adapt = jax.jit(lambda kernel, row: kernel.adapt(row))
        for k in range(20):
            row = jax.tree.map(lambda leaf, k=k: jnp.asarray(leaf[k]), rows)
            new = adapt(by_hand, row)
            by_hand = jax.tree.map(lambda n, o: n.astype(o.dtype), new, by_hand)
    found, expected = jax.tree.leaves(replayed), jax.tree.leaves(by_hand)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    first = jax.tree.leaves(jax.tree.map(jnp.asarray, kernel))
    assert any(
        not np.array_equal(one, other) for one, other in zip(found, first, strict=True)
    )
