# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One chain in any layout. Run as a script: print the digest of each layout asked for.

``python layout.py DEVICES:CHUNK:DTYPE:RECORDS[:CHAINS] …`` prints one line for each
argument.
"""

import hashlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import stats

from dpmcmc.model.model import Model
from dpmcmc.private import Chains, FullData, Grid, Records, Tape
from dpmcmc.proposals import RandomWalk

RECORDS = 4099  # a prime: no number of devices and no block divides it
STEPS = 300


def log_likelihood(theta, record):
    """The mixture of two normals of which the paper has a million records."""
    near = stats.norm.logpdf(record, theta["mean"], 2**0.5)
    far = stats.norm.logpdf(record, theta["mean"] + theta["gap"], 2**0.5)
    return jnp.logaddexp(near, far) - jnp.log(2.0)


def log_prior(theta):
    return stats.norm.logpdf(theta["mean"], 0.0, 10**0.5) + stats.norm.logpdf(
        theta["gap"]
    )


MODEL = Model(log_likelihood, log_prior, {"mean": 0.0, "gap": 0.0})


def make_chains(devices=1, chunk=STEPS, dtype="float32", records=RECORDS, chains=2):
    """Chains on simulated records; everything but the layout is fixed."""
    rng = np.random.default_rng(70)
    data = rng.normal(rng.integers(0, 2, records), 2**0.5)
    data[-7:-1] = [np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324]
    with jax.enable_x64(dtype == "float64"):
        start = {"mean": jnp.asarray(0.4, dtype), "gap": jnp.asarray(0.2, dtype)}
        kernel = RandomWalk({"mean": 0.05, "gap": 0.1}).fit(start)
    return Chains(
        MODEL,
        Records(data),
        kernel,
        FullData(Grid(0.01)),
        Tape.seeded(71),
        start=jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start),
        dtype=dtype,
        chunk=chunk,
        devices=jax.devices()[:devices],
    )


def run(chains, chunk, steps=STEPS):
    """Bits and points of all steps, as NumPy arrays."""
    sizes = [chunk] * (steps // chunk) + [steps % chunk] * (steps % chunk > 0)
    parts = [jax.tree.map(np.asarray, chains.advance(size)) for size in sizes]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def digest(released):
    """The released chain, bit for bit, in a few characters."""
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(released):
        total.update(f"{leaf.dtype}{leaf.shape}".encode() + leaf.tobytes())
    return total.hexdigest()[:32]


def digest_of(layout):
    """Digest of the chain in one layout, named as above."""
    devices, chunk, dtype, *sizes = layout.split(":")
    assert len(jax.devices()) >= int(devices)
    chains = make_chains(int(devices), int(chunk), dtype, *map(int, sizes))
    return digest(run(chains, int(chunk)))


if __name__ == "__main__":
    before = jax.config.jax_enable_x64
    for name in sys.argv[1:]:
        print(digest_of(name))
    assert jax.config.jax_enable_x64 == before
