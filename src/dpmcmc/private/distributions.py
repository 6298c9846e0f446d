# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Distributions: the one place where words of the tape become random numbers.

All of it is float64 arithmetic on the device, inside an x64 context.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri

from dpmcmc.arithmetic import LOG_ODDS_LIMIT

__all__ = [
    "NormalMixture",
    "Reader",
    "bernoulli",
    "mixture_bernoulli",
    "normal",
    "uniform",
]


def uniform(words: jax.Array) -> jax.Array:
    """Uniform float64 numbers in the open interval (0, 1), 52 bits of each word.

    They are the midpoints (k + ½) 2⁻⁵², each exactly a float64, so that 0 and 1
    never occur and the distribution is symmetric about ½.
    """
    return ((words >> 12).astype(jnp.float64) + 0.5) * 2.0**-52


def normal(words: jax.Array) -> jax.Array:
    """Return standard normal float64 numbers: the inverse cdf of a uniform."""
    return ndtri(uniform(words))


def bernoulli(word: jax.Array, log_odds: jax.Array) -> jax.Array:
    """Draw a bit that is true with probability σ(log_odds), from one 64-bit word.

    The bit is ``U < σ(clip(log_odds, −40, 40))``, with U the upper 53 bits of the
    word times 2⁻⁵³. This is the Barker test ``log_odds + V > 0`` with V standard
    logistic; no noise is added to a number and then compared.

    Guarantee
    ---------
    For a uniform word, the distribution of the bit is within total variation
    ``BIT_SLACK`` = 2⁻⁵¹ of Bernoulli(σ(log_odds')), log_odds' the clipped log
    odds, on any device whose float64 exp errs by at most 4 units in the last
    place. Clipping is a contraction: it never widens a range of log odds.
    """
    log_odds = jnp.clip(log_odds, -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT)
    small = jnp.exp(-jnp.abs(log_odds))
    probability = jnp.where(log_odds >= 0, 1.0, small) / (1.0 + small)
    return _upper_bits(word) < probability


@dataclass(frozen=True)
class NormalMixture:
    """A distribution of V_cor: a mixture of normals, of which width 0 is an atom."""

    centres: tuple[float, ...]
    widths: tuple[float, ...]
    weights: tuple[float, ...]


def mixture_bernoulli(
    word: jax.Array, place: jax.Array, variance: jax.Array, mixture: NormalMixture
) -> jax.Array:
    """Draw a bit that is true with probability F(place), from one 64-bit word.

    F is the distribution function of N(0, variance) + V_cor. The bit is ``U < F``, with
    U the upper 53 bits of the word times 2⁻⁵³: the test ``place + N + V_cor > 0``
    for a symmetric V_cor, as one Bernoulli draw.

    Guarantee
    ---------
    For a uniform word, a variance of at least 2⁻²⁰ and K components, the distribution
    of the bit is within total variation ``2⁻⁴⁸ + K 2⁻⁵³`` of Bernoulli(F(place)), on
    any device whose float64 normal distribution function errs by at most 2⁻⁵⁰.
    """
    centres, widths, weights = map(
        jnp.asarray, (mixture.centres, mixture.widths, mixture.weights)
    )
    scales = jnp.sqrt(variance[..., None] + widths**2)
    parts = weights * ndtr((place[..., None] - centres) / scales)
    return _upper_bits(word) < jnp.sum(parts, axis=-1)


def _upper_bits(word: jax.Array) -> jax.Array:
    """The upper 53 bits of a word as a uniform number in [0, 1)."""
    return (word >> 11).astype(jnp.float64) * 2.0**-53


class Reader:
    """Reads the words of one proposal in order, while a step is being traced."""

    def __init__(self, words: jax.Array) -> None:
        self._words = words
        self.position = 0

    def normals(self, count: int) -> jax.Array:
        """Read the next ``count`` standard normal numbers."""
        return normal(self._take(count))

    def uniforms(self, count: int) -> jax.Array:
        """Read the next ``count`` uniform numbers in (0, 1)."""
        return uniform(self._take(count))

    def _take(self, count: int) -> jax.Array:
        start, self.position = self.position, self.position + count
        return self._words[start : self.position]
