# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Public arithmetic is on the host, and what reads records is on their devices."""

import json
import os
import subprocess
import sys

import jax
import pytest

from dpmcmc.sampling import on_host

ON_TWO_DEVICES = """
import json, jax, numpy as np, dpmcmc
from dpmcmc.private import chains, totals
from dpmcmc.sampling.fit import twin
from dpmcmc.sampling.fit.fitted import Fitted

host, accelerator = jax.devices()
jax.config.update("jax_default_device", accelerator)
found = {}

def watch(module, name):
    inner = getattr(module, name)

    def watched(*given):
        made = inner(*given)
        for leaf in jax.tree.leaves(made):
            found.setdefault(name, set()).update(one.id for one in leaf.devices())
        return made

    setattr(module, name, watched)

watch(chains, "advance")
watch(totals, "placed")  # totals, as they are added
watch(twin, "_look")

def drawn(model, records, method):
    found.clear()
    settings = {"steps": 30, "seed": 1, "progress": False, "devices": [accelerator]}
    dpmcmc.sample_not_private(model, records, method=method, **settings)
    print(json.dumps({name: sorted(devices) for name, devices in found.items()}))

normal = dpmcmc.Model(
    lambda theta, x: -0.5 * (x - theta) ** 2, lambda theta: -(theta**2), 0.0
)
records = np.random.default_rng(1).normal(size=500)
Fitted.is_alone = False  # let records decide
drawn(normal, records, dpmcmc.ControlVariates())
walk = dpmcmc.RandomWalk(0.2)
drawn(normal, records, dpmcmc.MinibatchBarker(batch=40, proposal=walk))
poisson = dpmcmc.models.poisson(20.0)
drawn(poisson, {"x": np.ones(50)}, dpmcmc.SufficientStatistics())
"""


def test_records_are_on_their_device_and_public_arithmetic_is_on_the_host() -> None:
    """Two host devices in a process of their own; JAX prefers that of the records."""
    flags = "--xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", ON_TWO_DEVICES],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    control, batches, statistics = map(json.loads, done.stdout.splitlines())
    assert control == {"placed": [1], "advance": [1], "_look": [0]}
    assert batches == {"advance": [1]}
    assert statistics == {"placed": [1], "advance": [0]}  # that chain reads no record


def test_nothing_changes_where_jax_has_no_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*, backend: str) -> None:
        raise RuntimeError(f"Unknown backend {backend}")

    monkeypatch.setattr(jax, "local_devices", unknown)
    with on_host.on_host():
        assert jax.config.jax_default_device is None
