# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance tests as a user chooses them: from one choice, mechanism and event.

Each class yields the test that the boundary runs, and reads the event that the
accountants charge for off that very test, so that what is done is what is paid for.
`sample` certifies these classes and no others.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting import BarkerBit, GaussianBarkerBit, MinibatchBit
from dpmcmc.correction import Correction, correction_for
from dpmcmc.errors import InputError, require_count, require_positive
from dpmcmc.private import (
    BatchDecision,
    FullData,
    Grid,
    Minibatch,
    Mixture,
    Noise,
)

__all__ = [
    "Acceptance",
    "Barker",
    "Coarsening",
    "GaussianBarker",
    "MinibatchBarker",
    "Setting",
    "require_test",
    "tempered_records",
]

_MOST_BATCH = 2**22
_MOST_RECORDS = 2**32 - 2
_LEAST_CLIP, _MOST_CLIP, _MOST_PRIVATE_CLIP = 1e-30, 1e30, 100.0
"""Clips whose grid float32 can hold; and beyond which no bit hides a record."""
_LEAST_VARIANCE = 1e-3
_LOGISTIC = f"π²/3 ≈ {math.pi**2 / 3:.4f}"
_SCALED_CLIP = 1.0
"""The clip κ of a scaled ratio: it bounds the batch variance s² by 1 (paper, §3.2)."""


@dataclass(frozen=True)
class Coarsening:
    """Temper to the c-posterior: N₀ = N β / (β + N) (paper, §2.3).

    Parameters
    ----------
    beta
        The rate β of the exponential that says how far, in Kullback–Leibler
        divergence, the records may be from records of the model.
    """

    beta: float


@dataclass(frozen=True)
class Setting:
    """What a test is fitted to: N records, tempered to N₀ of them, and a clip.

    Only a run that is not private may go without a clip, or with a very wide one.
    ``number`` says in words what of a record is clipped.
    """

    records: int
    tempered: float
    clip: float | None
    is_private: bool = True
    number: str = "log-likelihood ratio"

    @property
    def tempering(self) -> float:
        """The power τ = N₀ / N of the likelihood."""
        return self.tempered / self.records


class Acceptance(Protocol):
    """A user's choice of acceptance test."""

    def mechanism(self, setting: Setting) -> FullData | Minibatch:
        """The test that the boundary runs."""
        ...

    def event(self, setting: Setting, mechanism: Any) -> DpEvent:
        """What one bit of the mechanism releases."""
        ...

    def describe(self, setting: Setting) -> str:
        """How a bit is decided, in words, for the statement."""
        ...


@dataclass(frozen=True)
class Barker:
    """Barker's test on all records, exact: accept with probability σ(Δ)."""

    def mechanism(self, setting: Setting) -> FullData:
        """Sum the clipped ratios of all records."""
        return FullData(_full_data_grid(setting))

    def event(self, setting: Setting, mechanism: FullData) -> BarkerBit:
        """A bit whose log odds one record moves by at most twice the clip."""
        return BarkerBit(clip=mechanism.grid.clip, records=setting.records)

    def describe(self, setting: Setting) -> str:
        """All records, by Barker's test."""
        return f"decided on all records, {_clipped(setting)}, by Barker's exact test"


@dataclass(frozen=True)
class GaussianBarker:
    """The paper's test on all records: Δ with N(0, C) noise and a correction.

    `Barker` is exact and costs less; this is here because it is in the paper (§3.1).

    Parameters
    ----------
    variance
        The variance C of the normal noise, in (0, π²/3).
    correction
        The law of V_cor; fitted by linear programme unless given.
    """

    variance: float = 2.0
    correction: Correction | None = None

    def mechanism(self, setting: Setting) -> FullData:
        """Sum the clipped ratios of all records; normal noise and V_cor decide."""
        return FullData(
            _full_data_grid(setting), _noise(self.variance, self.correction)
        )

    def event(self, setting: Setting, mechanism: FullData) -> GaussianBarkerBit:
        """A bit of the Gaussian test."""
        assert mechanism.noise is not None
        return GaussianBarkerBit(
            clip=mechanism.grid.clip,
            records=setting.records,
            variance=mechanism.noise.variance,
            positions=mechanism.noise.correction.centres,
            weights=mechanism.noise.correction.weights,
            deviations=mechanism.noise.correction.widths,
        )

    def describe(self, setting: Setting) -> str:
        """All records, by the Gaussian test."""
        return (
            f"decided on all records, {_clipped(setting)}, by the Gaussian test with "
            f"C = {self.variance:g}"
        )


@dataclass(frozen=True)
class MinibatchBarker:
    """The paper's test on a fresh batch at every step (§3.2).

    A record's ratio is clipped to ±√b/N₀, so that the batch's own variance is at most
    1 whatever the records are, and the clip of the run must not be given.

    Parameters
    ----------
    batch
        The number b of records in a batch.
    variance
        The variance C of batch and normal noise together, in (1, π²/3).
    correction
        The law of V_cor; fitted by linear programme unless given.
    replacement
        Whether a batch is drawn with replacement. Without costs less privacy.
    """

    batch: int
    variance: float = 2.0
    correction: Correction | None = None
    replacement: bool = False

    def mechanism(self, setting: Setting) -> Minibatch:
        """Decide on a batch, scaled up to N₀ records."""
        batch = self._batch(setting)
        scale = setting.tempered / math.sqrt(batch)
        noise = _noise(self.variance, self.correction)
        decision = BatchDecision(Grid(_SCALED_CLIP, scale=scale), batch, noise)
        return Minibatch(decision, self.replacement)

    def event(self, setting: Setting, mechanism: Minibatch) -> MinibatchBit:
        """A bit of the minibatch test."""
        decision = mechanism.decision
        if decision.noise.variance <= decision.grid.clip**2:
            raise InputError(
                f"variance is {self.variance!r}; for a private run C must lie strictly "
                f"between {decision.grid.clip**2:g}, the most that a batch's own "
                f"variance can be, and {_LOGISTIC}. The paper takes 2."
            )
        return MinibatchBit(
            batch=decision.batch,
            records=setting.records,
            clip=decision.grid.clip,
            variance=decision.noise.variance,
            positions=decision.noise.correction.centres,
            weights=decision.noise.correction.weights,
            deviations=decision.noise.correction.widths,
            replacement=mechanism.replacement,
        )

    def describe(self, setting: Setting) -> str:
        """A fresh batch, with or without replacement."""
        how = "with" if self.replacement else "without"
        clip = math.sqrt(self.batch) / setting.tempered
        return (
            f"decided on a fresh, secret batch of {self.batch:,} records drawn {how} "
            "replacement, with each record's log-likelihood ratio clipped to "
            f"±{clip:.4g}, by the minibatch test with C = {self.variance:g}"
        )

    def _batch(self, setting: Setting) -> int:
        if setting.clip is not None:
            raise InputError(
                f"clip is {setting.clip!r}, but the minibatch test has a clip of its "
                "own, √b/N₀. Leave clip out; temper or change the batch to move it."
            )
        batch = require_count("batch", self.batch, "1000 is the paper's choice.")
        if batch > min(setting.records, _MOST_BATCH):
            raise InputError(
                f"batch is {batch}; it must be at most the {setting.records} records "
                f"and at most {_MOST_BATCH}. Choose a smaller batch."
            )
        if setting.records > _MOST_RECORDS:
            raise InputError(
                f"there are {setting.records} records; the minibatch test takes at "
                f"most {_MOST_RECORDS}."
            )
        return batch


def require_test(test: Acceptance) -> Acceptance:
    """Return ``test`` if it is one of the tests here, and nothing made from one.

    What a test of another class would run and what it would say that costs need not
    agree; no statement could vouch for it.
    """
    if type(test) not in (Barker, GaussianBarker, MinibatchBarker):
        raise InputError(
            f"test is a {type(test).__name__}; it must be dpmcmc.Barker(), "
            "dpmcmc.GaussianBarker() or dpmcmc.MinibatchBarker(batch=1000), and no "
            "class made from them: only for these is the cost proven."
        )
    return test


def tempered_records(tempering: float | Coarsening | None, records: int) -> float:
    """How many records the tempered likelihood counts for: N₀, in (0, N]."""
    if tempering is None:
        return float(records)
    if isinstance(tempering, Coarsening):
        beta = require_positive("beta", tempering.beta, "Larger is less tempering.")
        return records * beta / (beta + records)
    advice = "Give N₀, the number of records that the likelihood is to count for."
    tempered = require_positive("tempering", tempering, advice)
    if tempered > records:
        raise InputError(
            f"tempering is {tempering!r}; N₀ must be at most the {records} records. "
            "Leave it out for the posterior itself."
        )
    return tempered


def _full_data_grid(setting: Setting) -> Grid:
    if setting.clip is None and not setting.is_private:
        return Grid.unclipped(setting.records, setting.tempering)
    advice = "Give None for no clip."
    if setting.is_private:
        advice = "Choose the largest ratio that a record may have in a step."
    most = _MOST_PRIVATE_CLIP if setting.is_private else _MOST_CLIP
    clip = require_positive("clip", setting.clip, advice)
    if not _LEAST_CLIP <= clip <= most:
        raise InputError(
            f"clip is {clip:g}; it must lie between {_LEAST_CLIP:g} and {most:g}. "
            f"{advice}"
        )
    return Grid(clip, scale=setting.tempering)


def _clipped(setting: Setting) -> str:
    if setting.clip is None:
        return "with no clip"
    ratio = setting.number
    if setting.tempered < setting.records:
        ratio = f"tempered {ratio}"
    return f"with each record's {ratio} clipped to ±{setting.clip:g}"


def _noise(variance: float, correction: Correction | None) -> Noise:
    variance = require_positive("variance", variance, "The paper takes C = 2.")
    if not _LEAST_VARIANCE <= variance < math.pi**2 / 3:
        raise InputError(
            f"variance is {variance!r}; C must lie between {_LEAST_VARIANCE:g} and "
            f"{_LOGISTIC}. The paper takes 2."
        )
    fitted = correction_for(variance) if correction is None else correction
    if type(fitted) is not Correction or fitted.variance != variance:
        raise InputError(
            f"correction is {type(fitted).__name__} for C = "
            f"{getattr(fitted, 'variance', None)!r}, but variance is {variance!r}; it "
            "must be a Correction fitted for the C of the test."
        )
    return Noise(variance, Mixture(fitted.centres, fitted.widths, fitted.weights))
