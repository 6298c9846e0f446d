# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Panels: regressions of several records of a person, who has an effect of their own.

Records of one person are alike. The effect that makes them so, a normal number b of
each person, is integrated out: ℓ = log ∫ ∏ p(y_r | η_r + b) N(b; 0, s²) db, over the
records r of the person. Without it, intervals would be too narrow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from dpmcmc.errors import InputError, require_count, require_positive
from dpmcmc.model.effects import integrate_effect
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.units import Unit, sum_over_records
from dpmcmc.models.design import Design
from dpmcmc.models.priors import Normal, Prior
from dpmcmc.models.settings import Range, preparation
from dpmcmc.models.single import bernoulli_log_likelihood

__all__ = ["PersonEffect", "integrate_effect", "logistic_panel", "poisson_panel"]


@dataclass(frozen=True)
class PersonEffect:
    """The prior of the sd of effects, and how they are integrated out.

    Parameters
    ----------
    centre, scale
        The prior of the logarithm of the sd is normal: about log ``centre``, with that
        scale.
    nodes
        As in `integrate_effect`.
    """

    centre: float = 1.0
    scale: float = 1.0
    nodes: int = 15

    def __post_init__(self) -> None:
        require_positive("centre", self.centre, "Give the prior's median of the sd.")
        require_positive("scale", self.scale, "Give the scale of the prior of its log.")
        require_count("nodes", self.nodes, "Fifteen suffice.")


_EFFECT = PersonEffect()


def logistic_panel(
    dimension: int,
    *,
    norm: float,
    intercept: bool = True,
    coefficient_scale: float = 2.5,
    intercept_scale: float = 2.5,
    effect: PersonEffect = _EFFECT,
    offset: Range | None = None,
    before: Preparation | None = None,
) -> Model:
    """Logistic regression of persons with several records, with a normal effect each.

    For `dpmcmc.Records` that are grouped into units. A record is ``{"x": vector, "y": 0
    or 1}``. θ is ``coefficients``, ``intercept``, and the logarithm of the sd of the
    effects, which draws show as ``effect_sd``.

    Parameters
    ----------
    dimension, norm, intercept, coefficient_scale, intercept_scale, offset, before
        As in `logistic_regression`.
    effect
        The prior of the sd of effects.
    """
    design = Design(dimension, norm, intercept, None, offset)
    parts = design.parts(coefficient_scale, intercept_scale)
    family = bernoulli_log_likelihood, Clamp(0, 1)
    return _panel(design, parts, family, effect, before)


def poisson_panel(
    dimension: int,
    *,
    norm: float,
    most: float,
    coefficient_scale: float = 1.0,
    effect: PersonEffect = _EFFECT,
    intercept: bool = True,
    intercept_scale: float = 2.5,
    offset: Range | None = None,
    before: Preparation | None = None,
) -> Model:
    """Poisson regression of persons with several records, with a normal effect each.

    For `dpmcmc.Records` that are grouped into units. A record is ``{"x": vector, "y":
    count}``. θ is as in `logistic_panel`; rates have the effect on the log scale.

    Parameters
    ----------
    dimension, norm, most, intercept, coefficient_scale, intercept_scale, offset, before
        As in `poisson_regression`; ``most`` bounds a count.
    effect
        The prior of the sd of effects.
    """
    require_positive("most", most, "Give the greatest count.")
    design = Design(dimension, norm, intercept, None, offset)
    parts = design.parts(coefficient_scale, intercept_scale)

    def log_density(log_rate: jax.Array, y: jax.Array) -> jax.Array:
        return y * log_rate - jnp.exp(log_rate) - gammaln(y + 1)

    return _panel(design, parts, (log_density, Clamp(0, most)), effect, before)


def _panel(
    design: Design,
    parts: dict[str, Normal],
    family: tuple[Callable[[Any, Any], jax.Array], Clamp],
    effect: PersonEffect,
    before: Preparation | None,
) -> Model:
    """A panel of a log-density of y given the predictor, and the bounds of y."""
    if not isinstance(effect, PersonEffect):
        raise InputError(f"effect is {effect!r}; it must be a models.PersonEffect.")
    log_density, clamp = family
    of_sd = Normal(float(np.log(effect.centre)), effect.scale)
    prior = Prior({**parts, "log_effect_sd": of_sd})

    def log_likelihood(theta: Any, unit: Unit) -> jax.Array:
        eta = jax.vmap(lambda record: design.predictor(theta, record))(unit.rows)
        sd = jnp.exp(theta["log_effect_sd"])
        rows = Unit((eta, unit.rows["y"]), unit.present)

        def given(own: jax.Array) -> jax.Array:
            return sum_over_records(
                lambda record: log_density(record[0] + sd * own, record[1]), rows
            )

        return integrate_effect(given, effect.nodes)

    def shown(theta: Any) -> Any:
        rest = {name: leaf for name, leaf in theta.items() if name != "log_effect_sd"}
        return {**rest, "effect_sd": jnp.exp(theta["log_effect_sd"])}

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=shown,
        draw_prior=prior.draw,
        preparation=preparation(before, {**design.clamps, "y": clamp}),
        per="unit",
        **design.names(before),
    )
