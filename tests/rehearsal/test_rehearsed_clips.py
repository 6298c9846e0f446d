# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Many settings at once, compiled once: a method has one program of a chunk."""

from typing import Any

import pytest

from dpmcmc.influence.choices import ModelCorrection, PlainClipping
from dpmcmc.models import two_component_mixture
from dpmcmc.private import chains as chains_module
from dpmcmc.proposals import RandomWalk
from dpmcmc.rehearsal import rehearse

CLIPS = {0.01: 40, 0.02: 50, 0.05: 60, 0.1: 70}


@pytest.mark.parametrize(
    "clipping",
    [
        pytest.param(PlainClipping(), id="plain"),
        pytest.param(ModelCorrection(simulated=64), id="model", marks=pytest.mark.slow),
    ],
)
def test_four_clips_of_a_method_share_one_program(
    monkeypatch: pytest.MonkeyPatch, clipping: Any
) -> None:
    """A step is traced as often for four clips as for one, and no more."""
    traced = []
    step = chains_module._step
    monkeypatch.setattr(
        chains_module, "_step", lambda *given: traced.append(1) or step(*given)
    )

    def traces(clips: dict[float, int]) -> int:
        traced.clear()
        rehearse(
            two_component_mixture((-9.0, 9.0)),  # anew, so that none is compiled yet
            records=500,
            delta=1e-5,
            ways={
                f"clip {clip}": {
                    "clip": clip,
                    "clipping": clipping,
                    "steps": steps,
                    "proposal": RandomWalk(0.3),
                }
                for clip, steps in clips.items()
            },
            reference_steps=50,
            progress=False,
        )
        return len(traced)

    assert traces(CLIPS) == traces({0.01: 40}) > 0
