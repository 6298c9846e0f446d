# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Many settings at once, compiled once: a method has one program of a chunk."""

import jax
import pytest

from dpmcmc.clipping import ModelCorrection, PlainClipping
from dpmcmc.models import two_component_mixture
from dpmcmc.private import chains as chains_module
from dpmcmc.proposals import RandomWalk
from dpmcmc.rehearsal import rehearse

CLIPS = {0.01: 40, 0.02: 50, 0.05: 60, 0.1: 70}


@pytest.mark.parametrize(
    "clipping", [PlainClipping(), ModelCorrection(simulated=64)], ids=["plain", "model"]
)
def test_four_clips_of_a_method_share_one_program(clipping):
    ways = {
        f"clip {clip}": {
            "clip": clip,
            "clipping": clipping,
            "steps": steps,
            "proposal": RandomWalk(0.3),
        }
        for clip, steps in CLIPS.items()
    }
    jax.clear_caches()  # programs of models that are gone would leave meanwhile
    rehearse(
        two_component_mixture((-9.0, 9.0)),
        records=500,
        delta=1e-5,
        ways=ways,
        reference_steps=50,
        progress=False,
    )
    # one of the reference, which has no clip and two chains, and one of all four
    assert chains_module._advance._cache_size() == 2
