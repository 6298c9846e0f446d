# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A regression: its predictor, density, prior and simulator, and how θ is shown.

θ has ``coefficients`` and ``intercept`` of the scaled rows, logarithms of positive
parameters, and for each group term contrasts of its effects, their mean and the
logarithm of their sd. The likelihood is affine in everything but the family's own
parameters, so that a chain needs one number of a record.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from dpmcmc.errors import InputError, require_positive
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.expressions import Columns, evaluate, require_known
from dpmcmc.models.formulas.families import Family, Given
from dpmcmc.models.formulas.groups import Effects, effects_of
from dpmcmc.models.formulas.response import Response, response_of
from dpmcmc.models.formulas.rows import DesignRows, rows_of
from dpmcmc.models.formulas.terms import Parsed, columns_in
from dpmcmc.models.priors import Normal, Prior

__all__ = ["Regression"]

_INTERCEPT_SCALE = 2.5


@dataclass(frozen=True)
class _Scales:
    """Independent normals about zero, each with its own scale."""

    scales: tuple[float, ...]
    outputs: int | None

    @property
    def _wide(self) -> np.ndarray:
        wide = np.asarray(self.scales)
        if self.outputs is None:
            return wide
        return np.repeat(wide[:, None], self.outputs, axis=1)

    def log_density(self, value: jax.Array) -> jax.Array:
        """The log-density."""
        return jnp.sum(norm.logpdf(value, 0.0, jnp.asarray(self._wide, value.dtype)))

    def draw(self, key: jax.Array) -> jax.Array:
        """A draw."""
        standard: jax.Array = jax.random.normal(key, self._wide.shape)
        return jnp.asarray(self._wide, standard.dtype) * standard

    def start(self) -> np.ndarray:
        """Zero."""
        return np.zeros_like(self._wide)


@dataclass(frozen=True, eq=False)
class Regression:
    """A parsed formula with its family and what is declared of its columns."""

    parsed: Parsed
    family: Family
    declared: Declared
    response: Response
    rows: DesignRows
    effects: Effects
    prior: Prior

    @classmethod
    def of(
        cls,
        parsed: Parsed,
        family: Family,
        declared: Declared,
        *,
        priors: Mapping[str, float],
        prior_scale: float,
        group_scale: float,
    ) -> "Regression":
        """Check a formula against what is declared, and put it together."""
        response = response_of(parsed.response, family.kind, family.name, declared)
        centred = parsed.has_intercept or family.kind == "ordered"
        rows = rows_of(parsed.terms, centred, declared)
        for offset in parsed.offsets:
            require_known(offset)
            declared.require(columns_in(offset), [])
        effects = effects_of(
            parsed.groups, rows, centred, declared, response.outputs, group_scale
        )
        if not (rows.size or parsed.has_intercept or parsed.groups):
            raise InputError("the formula has no term, nor an intercept. Add one.")
        scales = _prior_scales(rows, priors, prior_scale, response.unit)
        parts = _parts(parsed, family, response, scales)
        return cls(parsed, family, declared, response, rows, effects, Prior(parts))

    @property
    def has_intercept(self) -> bool:
        """Whether θ has one: cutpoints stand for that of ordered levels."""
        return "intercept" in self.prior.parts

    @cached_property
    def initial(self) -> dict[str, Any]:
        """Where chains start: the middle of the prior."""
        return {**self.prior.initial, **self.effects.start()}

    def log_prior(self, theta: Any) -> jax.Array:
        """The log-density of the prior."""
        population = self.population(theta)
        return self.prior.log_density(population) + self.effects.log_density(theta)

    def draw_prior(self, key: jax.Array) -> dict[str, jax.Array]:
        """One draw of the prior."""
        first, second = jax.random.split(key)
        effects = self.effects.draw(second)
        return {**self._moved(self.prior.draw(first), effects, 1.0), **effects}

    def population(self, theta: Any) -> dict[str, Any]:
        """Coefficients without the mean effects of groups that θ adds to them."""
        own = {name: theta[name] for name in self.prior.parts}
        return self._moved(own, theta, -1.0)

    def _moved(self, own: dict[str, Any], theta: Any, sign: float) -> dict[str, Any]:
        found = dict(own)
        for place, mean in self.effects.means(theta):
            if place >= 0:
                found["coefficients"] = found["coefficients"].at[place].add(sign * mean)
            elif self.has_intercept:
                found["intercept"] = found["intercept"] + sign * mean
            else:  # P(y ≤ k) = σ(cutpoint − η)
                found["first_cutpoint"] = found["first_cutpoint"] - sign * mean
        return found

    def predictor(self, theta: Any, record: Columns) -> Any:
        """η at θ for one prepared record."""
        eta = self.offset(record) / self.response.unit
        if self.rows.size:
            row, slopes = self.rows.at(record), theta["coefficients"]
            # in full precision on devices, too, that multiply matrices in less
            eta = eta + jnp.dot(row, slopes, precision=jax.lax.Precision.HIGHEST)
        if self.has_intercept:
            eta = eta + theta["intercept"]
        return self.effects.add(eta, theta, record)

    def offset(self, record: Columns) -> Any:
        """What the formula adds to η as it is."""
        bounds = self.declared.bounds
        return sum(evaluate(one, record, bounds) for one in self.parsed.offsets)

    def extra(self, theta: Any) -> dict[str, Any]:
        """The family's other parameters, on the scale of the prepared response."""
        found = {name: jnp.exp(theta[f"log_{name}"]) for name in self.family.positive}
        if self.family.kind == "ordered":
            steps = jnp.cumsum(jnp.exp(theta["log_gaps"]))
            first = theta["first_cutpoint"]
            found["cutpoints"] = jnp.concatenate([first[None], first + steps])
        return found

    def given(self, theta: Any, record: Columns) -> Given:
        """What the response of a prepared record depends on, at θ."""
        eta = self.predictor(theta, record)
        return Given(eta, self.extra(theta), self.response, record)

    def given_shown(self, draw: Any, record: Columns) -> Given:
        """The same at a draw as it is shown."""
        eta = self.offset(record) + draw.get("Intercept", 0.0)
        if self.rows.size:
            eta = eta + jnp.dot(self.rows.raw(record), draw["coefficients"])
        eta = self.effects.add_shown(eta, draw, record)
        names = [*self.family.positive, "cutpoints"]
        extra = {name: draw[name] for name in names if name in draw}
        if "sd" in extra:
            extra["sd"] = extra["sd"] / self.response.unit
        scaled = (eta - self.response.shift) / self.response.unit
        return Given(scaled, extra, self.response, record)

    def log_likelihood(self, theta: Any, record: Columns) -> Any:
        """The log-likelihood of one prepared record."""
        y = record[self.response.name]
        return self.family.log_density(y, self.given(theta, record))

    def simulate(self, theta: Any, key: jax.Array, record: Columns) -> dict[str, Any]:
        """One prepared record at θ; covariates are copied."""
        return self.respond(key, self.given(theta, record))

    def respond(self, key: jax.Array, at: Given) -> dict[str, Any]:
        """A record with a response that is drawn; a duration ends at its bound."""
        drawn = self.family.draw(key, at)
        kept = self.response.clamped(drawn)
        found = {**at.record, self.response.name: kept}
        if self.family.kind == "positive" and self.response.beside is not None:
            found[self.response.beside] = jnp.where(drawn <= kept, 1.0, 0.0)
        return found

    def shown(self, theta: Any) -> dict[str, Any]:
        """θ for columns and response as the formula and the table have them."""
        unit, shift = self.response.unit, self.response.shift
        # an OrderedDict, as JAX sorts a dict by its names
        found, constant = OrderedDict[str, Any](), 0.0
        whole = {**theta, **self.population(theta)}
        if self.has_intercept:
            found["Intercept"] = None
        if self.rows.size:
            slopes, constant = self.rows.shown(whole["coefficients"])
            found["coefficients"] = unit * slopes
        if self.has_intercept:
            found["Intercept"] = shift + unit * (whole["intercept"] + constant)
        for name, value in self.extra(whole).items():
            moved = value - constant if name == "cutpoints" else value
            found[name] = moved * unit if name == "sd" else moved
        found.update(self.effects.shown(theta, unit))
        return found

    def names(self) -> dict[str, Any]:
        """Coords and dims of what is shown."""
        coords, dims = self.effects.names()
        category = ["category"] if self.response.outputs else []
        if category:
            coords["category"] = list(self.response.levels[1:])
            if self.has_intercept:
                dims["Intercept"] = category
        if self.rows.size:
            coords["predictor"] = list(self.rows.names)
            dims["coefficients"] = ["predictor", *category]
        if self.family.kind == "ordered":
            pairs = zip(self.response.levels, self.response.levels[1:], strict=False)
            coords["cutpoint"] = [f"{low}|{high}" for low, high in pairs]
            dims["cutpoints"] = ["cutpoint"]
        return {"coords": coords, "dims": dims}


def _prior_scales(
    rows: DesignRows, priors: Mapping[str, float], prior_scale: float, unit: float
) -> list[float]:
    """Scales of the coefficients of scaled rows, from those of named columns."""
    if unknown := sorted(set(priors) - set(rows.names)):
        raise InputError(
            f"priors names {unknown[0]!r}, which is no coefficient of the formula: it "
            f"has {', '.join(map(repr, rows.names)) or 'none'}."
        )
    found = [float(prior_scale)] * rows.size
    for name, given in priors.items():
        place = rows.names.index(name)
        sd = require_positive(f"priors[{name!r}]", given, "Give a standard deviation.")
        found[place] = sd * float(rows.unit[place]) / unit
    return found


def _parts(
    parsed: Parsed, family: Family, response: Response, scales: list[float]
) -> dict[str, Any]:
    """The prior of everything but effects of groups."""
    parts: dict[str, Any] = {}
    if scales:
        parts["coefficients"] = _Scales(tuple(scales), response.outputs)
    if family.kind == "ordered":
        gaps = len(response.codes) - 2
        parts["first_cutpoint"] = Normal(-1.0, _INTERCEPT_SCALE)
        parts["log_gaps"] = Normal(0.0, 1.0, (gaps,))
    elif parsed.has_intercept:
        shape = () if response.outputs is None else (response.outputs,)
        centre = _centre(family, response, bool(parsed.offsets))
        parts["intercept"] = Normal(centre, _INTERCEPT_SCALE, shape)
    for name, (centre, scale) in family.positive.items():
        parts[f"log_{name}"] = Normal(centre, scale)
    return parts


def _centre(family: Family, response: Response, has_offset: bool) -> float:
    """Where the prior of the intercept lies: within the declared range."""
    low, high = response.bounds
    if family.kind == "positive":
        return 0.5 * (math.log(low) + math.log(high))
    if family.kind == "count" and not has_offset:
        return math.log(max(high / 10, 0.1))
    return 0.0
