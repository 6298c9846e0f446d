# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Questions whose answers are the records themselves, and exact totals of them."""

import hashlib
import sys
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model
from dpmcmc.private import Parts, Records, Tape, release_counts, release_sum
from dpmcmc.private.opening import open_records
from dpmcmc.private.totals import spread_over

SIZE = 3
"""Coordinates of a record, and histograms that it is in."""

BINS = 5

LINEAR = Model(lambda theta, record: theta @ record, lambda theta: 0.0, np.zeros(SIZE))
"""A model whose gradients are its records."""

POINT = np.zeros(SIZE)


@dataclass(frozen=True)
class Gradient:
    """The gradient at a public point: here the record itself, by differentiation."""

    def __call__(self, model, record, public):
        point = jnp.asarray(public, record.dtype)
        return jax.grad(lambda theta: model.log_likelihood(theta, record))(point)


@dataclass(frozen=True)
class InParts:
    """A record's numbers, each as a part of its own: free, positive, a factor."""

    def __call__(self, model, record, public):
        return Parts(record[:1], record[1:2], record[2:])


@dataclass(frozen=True)
class Named:
    """The bins that a record names, one for each histogram, whatever they are."""

    count: int = BINS

    def __call__(self, model, record, public):
        return record


def total_of(exact, question, records, dtype="float64", devices=1):
    """The exact total of the records."""
    with jax.enable_x64(True):
        devices = jax.devices()[:devices]
        opened, _ = open_records(Records(records), dtype, devices)
        given = (LINEAR, question, dtype, spread_over(devices), opened, POINT)
        total = np.asarray(exact(*given))
        assert total.dtype == np.int64
        return total


def asked(release, question, records, *, noise=1.0, tape=None, **settings):
    """One release on a repeatable tape."""
    given = {"dtype": "float64", "devices": jax.devices()[:1], **settings}
    tape = tape or Tape.seeded(1)
    sealed = Records(records)
    return release(LINEAR, sealed, question, POINT, tape, noise=noise, **given)


def simulated(count):
    """Vectors of all lengths, and numbers of bins in range and out of it."""
    generator = np.random.default_rng(70)
    vectors = generator.normal(size=(count, SIZE)) * generator.uniform(0, 2, (count, 1))
    return vectors, generator.integers(-2, BINS + 2, (count, SIZE)).astype(float)


def digest(devices, count=4099):
    """A sum and histograms, bit for bit, in a few characters."""
    vectors, numbers = simulated(count)
    on = {"devices": jax.devices()[:devices]}
    found = asked(release_sum, Gradient(), vectors, **on)
    parts = asked(release_sum, InParts(), vectors, **on)
    counts = asked(release_counts, Named(), numbers, **on)
    made = found.tobytes() + parts.tobytes() + counts.tobytes()
    return hashlib.sha256(made).hexdigest()[:32]


if __name__ == "__main__":
    for number in sys.argv[1:]:
        assert len(jax.devices()) >= int(number)
        print(digest(int(number)))
