# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance tests as a user chooses them: from one choice, mechanism and event.

Each class yields the test that the boundary runs and the event that the accountants
charge for, from the same numbers, so that what is done is what is paid for.
"""

import math
from dataclasses import dataclass
from typing import Protocol

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

_METHODS = ("mechanism", "event", "describe")
_MOST_BATCH = 2**22
_MOST_RECORDS = 2**32 - 2
_LEAST_CLIP, _MOST_CLIP, _MOST_PRIVATE_CLIP = 1e-30, 1e30, 100.0
"""Clips whose grid float32 can hold; and beyond which no bit hides a record."""
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
    """What a test is fitted to: N records, tempered to N₀ of them, and a clip."""

    records: int
    tempered: float
    clip: float | None

    @property
    def tempering(self) -> float:
        """The power τ = N₀ / N of the likelihood."""
        return self.tempered / self.records


class Acceptance(Protocol):
    """A user's choice of acceptance test."""

    def mechanism(self, setting: Setting) -> FullData | Minibatch:
        """The test that the boundary runs."""
        ...

    def event(self, setting: Setting) -> DpEvent:
        """What one of its bits releases."""
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

    def event(self, setting: Setting) -> BarkerBit:
        """A bit whose log odds one record moves by at most twice the clip."""
        return BarkerBit(clip=_private_clip(setting), records=setting.records)

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
        return FullData(_full_data_grid(setting), self._noise())

    def event(self, setting: Setting) -> GaussianBarkerBit:
        """A bit of the Gaussian test."""
        mixture = self._noise().correction
        return GaussianBarkerBit(
            clip=_private_clip(setting),
            records=setting.records,
            variance=self.variance,
            positions=mixture.centres,
            weights=mixture.weights,
            deviations=mixture.widths,
        )

    def describe(self, setting: Setting) -> str:
        """All records, by the Gaussian test."""
        return (
            f"decided on all records, {_clipped(setting)}, by the Gaussian test with "
            f"C = {self.variance:g}"
        )

    def _noise(self) -> Noise:
        return _noise(self.variance, self.correction, least=0.0)


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
        noise = _noise(self.variance, self.correction, least=0.0)
        decision = BatchDecision(Grid(_SCALED_CLIP, scale=scale), batch, noise)
        return Minibatch(decision, self.replacement)

    def event(self, setting: Setting) -> MinibatchBit:
        """A bit of the minibatch test."""
        noise = _noise(self.variance, self.correction, least=_SCALED_CLIP**2)
        return MinibatchBit(
            batch=self._batch(setting),
            records=setting.records,
            clip=_SCALED_CLIP,
            variance=self.variance,
            positions=noise.correction.centres,
            weights=noise.correction.weights,
            deviations=noise.correction.widths,
            replacement=self.replacement,
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
    """Return ``test`` if it is an acceptance test."""
    if not all(callable(getattr(test, name, None)) for name in _METHODS):
        raise InputError(
            f"test is a {type(test).__name__}; it must be an acceptance test, such as "
            "dpmcmc.Barker() or dpmcmc.MinibatchBarker(batch=1000)."
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
    if setting.clip is None:
        return Grid.unclipped(setting.records, setting.tempering)
    clip = _require_clip(setting, _MOST_CLIP, "Give None for no clip.")
    return Grid(clip, scale=setting.tempering)


def _private_clip(setting: Setting) -> float:
    advice = "Choose the largest ratio that a record may have in a step."
    return _require_clip(setting, _MOST_PRIVATE_CLIP, advice)


def _require_clip(setting: Setting, most: float, advice: str) -> float:
    clip = require_positive("clip", setting.clip, advice)
    if not _LEAST_CLIP <= clip <= most:
        raise InputError(
            f"clip is {clip:g}; it must lie between {_LEAST_CLIP:g} and {most:g}. "
            f"{advice}"
        )
    return clip


def _clipped(setting: Setting) -> str:
    if setting.clip is None:
        return "with no clip"
    ratio = "log-likelihood ratio"
    if setting.tempered < setting.records:
        ratio = f"tempered {ratio}"
    return f"with each record's {ratio} clipped to ±{setting.clip:g}"


def _noise(variance: float, correction: Correction | None, least: float) -> Noise:
    variance = require_positive("variance", variance, "The paper takes C = 2.")
    if not least < variance < math.pi**2 / 3:
        raise InputError(
            f"variance is {variance!r}; C must lie strictly between {least:g} and "
            f"π²/3 ≈ {math.pi**2 / 3:.4f}. The paper takes 2."
        )
    fitted = correction_for(variance) if correction is None else correction
    if fitted.variance != variance:
        raise InputError(
            f"the correction was fitted for C = {fitted.variance!r}, but variance is "
            f"{variance!r}. Fit it for the C of the test."
        )
    return Noise(variance, Mixture(fitted.centres, fitted.widths, fitted.weights))
