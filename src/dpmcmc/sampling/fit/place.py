# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A place where records are looked at: a point with whitened coordinates about it.

All numbers are per record: a curvature of 1 in every direction is that of a normal
distribution with the identity for its covariance, whatever the number of records.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmcmc.influence.derivatives import Frame
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.dispersion import Dispersion, Shape
from dpmcmc.sampling.fit.geometry import whitening
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.prior import LogPrior
from dpmcmc.sampling.fit.questions import Public

__all__ = ["Place", "Setting"]

_LEAST_SQUARES = 0.3
"""Mean squares of whitened gradients are 1 if the model is right; below this they are
taken for noise."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What does not change from place to place: directions, prior, N, and scales.

    ``is_concave`` says whether each record has one predictor, in which its
    log-likelihood is concave.
    """

    basis: Basis
    prior: LogPrior
    records: int
    tempering: float
    shape: Shape | None = None
    is_concave: bool = False

    @property
    def size(self) -> int:
        """How many directions records inform."""
        return self.basis.factor.shape[1]


@dataclass(frozen=True, eq=False)
class Place:
    """A point and coordinates v about it: θ = point + factor · whitening · v.

    Attributes
    ----------
    setting
        Directions, prior and number of records.
    point
        θ, by its coordinates.
    whitening
        Makes informed coordinates of v.
    squares
        Mean squares of the coordinates of a record's gradient, in v.
    is_first
        Whether lengths are still measured alike in all coordinates.
    """

    setting: Setting
    point: np.ndarray
    whitening: np.ndarray
    squares: np.ndarray
    is_first: bool = False

    @property
    def factor(self) -> np.ndarray:
        """Makes θ − point of v."""
        return self.setting.basis.factor @ self.whitening

    @cached_property
    def metric(self) -> np.ndarray:
        """What gradients are divided by before their length is taken.

        With noise in proportion to s, its total variance Σ s² · Σ J/s² is least for
        s = J^¼, J the mean squares.
        """
        return np.ones_like(self.squares) if self.is_first else self.squares**0.25

    @property
    def typical(self) -> float:
        """The root mean square of these lengths."""
        return float(np.sqrt(np.sum(self.squares / self.metric**2)))

    @property
    def directions(self) -> np.ndarray:
        """The part of each coordinate in the square of a usual length."""
        parts = self.squares / self.metric**2
        return parts / parts.sum()

    @property
    def noise_per_cut(self) -> float:
        """Noise of all coordinates beside a length that is cut, both for 1."""
        along = np.sqrt(np.sum(self.directions * self.metric**2))
        return float(np.sqrt(np.sum(self.metric**2)) / along)

    @property
    def public(self) -> Public:
        """Where records are looked at."""
        return Public(Frame(self.point, self.factor), self.metric, self.typical)

    @cached_property
    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature of the log prior in v, per record."""
        count = self.setting.records * self.setting.tempering
        _, gradient, hessian = self.setting.prior.at(self.point)
        curvature = -self.factor.T @ hessian @ self.factor / count
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        return (
            self.factor.T @ gradient / count,
            (vectors * np.maximum(values, 0)) @ vectors.T,
        )

    @property
    def is_straight(self) -> bool:
        """Whether the model says that no step is too long, but along a scale."""
        return self.setting.shape is not None and self.setting.shape.is_straight

    @cached_property
    def bends(self) -> np.ndarray:
        """A projection on derivatives that a step may change as its square, over rank.

        Those in all directions, unless the model says that some are linear.
        """
        if self.setting.shape is None:
            return np.eye(self.setting.size) / self.setting.size
        axes, _ = np.linalg.qr(self.whitening[self.setting.shape.bent].T)
        return axes @ axes.T / max(axes.shape[1], 1)

    @property
    def scaling(self) -> Dispersion | None:
        """The coordinate that scales the log-likelihood, if there is one."""
        return None if self.setting.shape is None else self.setting.shape.scaling

    def slope(self, known: Known) -> tuple[float, float]:
        """The records' mean gradient along the scale, and the sd of its noise."""
        assert self.scaling is not None
        own = np.linalg.inv(self.whitening)[:, self.scaling.place]
        sd = float(np.sqrt(own @ known.covariance @ own))
        return float(own @ (known.mean - self.prior[0])), sd

    def apart(self, curvature: Curvature, known: Known) -> Curvature:
        """What records and prior have, with what the model says of a scale's own.

        Its second derivative, c² q, follows from its gradient, −a + cq; what couples it
        with the others is in proportion to their gradient, and zero where that is.
        """
        if self.scaling is None:
            return curvature
        own = self.scaling.curvature(*self.slope(known))
        prior = self.prior[1]
        return Curvature(
            self._with_own(curvature.mean - prior, own) + prior,
            self._with_own(curvature.noise, 0.0),
        )

    def _with_own(self, matrix: np.ndarray, own: float) -> np.ndarray:
        """With one number for the scale, and none between it and the others."""
        assert self.scaling is not None
        place, back = self.scaling.place, np.linalg.inv(self.whitening)
        matrix = back.T @ matrix @ back
        matrix[place], matrix[:, place] = 0.0, 0.0
        matrix[place, place] = own
        return self.whitening.T @ matrix @ self.whitening

    def cut_variance(self, cut: float) -> np.ndarray:
        """Squares of what a bound cuts off the mean gradient, if it is all one way.

        ``cut`` is the sum over records of lengths beyond the bound, in typical lengths.
        The way is not known; it is taken to be like that of usual gradients.
        """
        lost = cut * self.typical * self.metric / self.setting.records
        return lost**2 * self.directions

    def moved(
        self, move: np.ndarray, known: Known, precision: float, part: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The point that a part of a Newton step leads to.

        And by how much roots of curvatures are multiplied on the way, in informed
        coordinates: where one of them scales the log-likelihood it goes where its own
        gradient says, once the other coordinates have moved, and that says what becomes
        of the curvatures.

        Parameters
        ----------
        move
            The whole step in v.
        known
            The mean gradient of records and prior, in v.
        precision
            How long a step of noise alone would be.
        part
            How much of the step is taken.
        """
        step = part * self.whitening @ move
        roots = np.ones(len(step))
        if self.scaling is not None:
            place = self.scaling.place
            slope, sd = self.slope(known)
            # What the others gain is taken from q: half the square of a whole step,
            # of which noise alone would seem to gain as much as it loses.
            seen = (known.mean - self.prior[0]) @ move
            seen -= slope * (self.whitening @ move)[place]
            gain = max(part * (1 - part / 2) * seen - part**2 * precision**2, 0.0)
            noise = np.sqrt(move @ known.covariance @ move)
            prior = float(np.linalg.inv(self.whitening)[:, place] @ self.prior[0])
            far = self.scaling.by_gradient(
                slope + prior - self.scaling.rate * gain,
                float(np.hypot(sd, self.scaling.rate * part * noise)),
            )
            step[place] = part * far
            root = np.exp(-self.scaling.rate * step[place] / 2)
            roots = np.where(self.scaling.scaled, root, 1.0)
        return self.point + self.setting.basis.factor @ step, roots

    def whitened(
        self,
        point: np.ndarray,
        curvature: np.ndarray,
        squares: np.ndarray,
        roots: np.ndarray,
    ) -> "Place":
        """Another point, whitened by the curvature here times roots on both sides."""
        turn = whitening(curvature)
        scaled = self.whitening @ turn / roots[:, None]
        across = np.linalg.solve(self.whitening, roots[:, None] ** 2 * scaled)
        return Place(
            self.setting,
            point,
            scaled,
            np.maximum((across**2).T @ squares, _LEAST_SQUARES),
        )
