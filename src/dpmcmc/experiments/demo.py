# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration: the paper's mixture, privately, beside a chain with no privacy.

Run it with ``make demo`` or ``python -m dpmcmc.experiments.demo``.
"""

import argparse
import textwrap
from pathlib import Path

import numpy as np

from dpmcmc.experiments.mixture import (
    TRUTH,
    mixture_model,
    posterior_covariance,
    simulate_mixture,
)
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.proposals import RandomWalk
from dpmcmc.report.pictures import plot_posterior
from dpmcmc.sampler import sample, sample_not_private
from dpmcmc.surrogates import ControlVariates
from dpmcmc.variational import Variational

__all__ = ["main", "side_by_side"]

_EPSILON, _DELTA = 1.0, 1e-7
_GUESS = {"mean": 0.0, "gap": 0.5}
"""Where the search for a start begins: that there is a gap is known, not how wide."""
_START = Variational(epsilon=0.1)
_SCALE = 1.5
"""Moves of the chain without privacy, in posterior sds."""


def main(arguments: list[str] | None = None) -> None:
    """Simulate records, draw both posteriors, print them, and write files."""
    options = _parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(options.simulation_seed)
    print(
        f"Simulating {options.records:,} records of the paper's mixture, "
        f"mean = {TRUTH['mean']:g}, gap = {TRUTH['gap']:g}."
    )
    records = simulate_mixture(TRUTH, options.records, generator)
    model = mixture_model(initial=_GUESS)
    private = sample(
        model,
        records,
        epsilon=_EPSILON,
        delta=_DELTA,
        start=_START,
        control=ControlVariates(),
    )
    found = {name: float(each.mean()) for name, each in private.honest.items()}
    shape = posterior_covariance(found, options.records, generator)
    reference = sample_not_private(
        model,
        records,
        start=found,
        steps=options.reference_steps,
        proposal=RandomWalk(shape * _SCALE**2),
    )
    private.save(options.out / "private.nc")
    reference.save(options.out / "not-private.nc")
    both = {"private chain": private, "reference chain": reference}
    plot_posterior(both, options.out / "posterior.png")
    print(f"\n{side_by_side(private, reference)}\n")
    for line in private.statement.text.splitlines():
        print(textwrap.fill(line, width=88, subsequent_indent="  "))
    print(
        "\nThe reference chain starts where the private one has led: (mean, gap) and\n"
        "(mean + gap, −gap) are the same two centres, and either may be found.\n"
        f"Draws and picture are in {options.out}/: private.nc, not-private.nc, "
        "posterior.png."
    )


def side_by_side(private: Posterior, reference: Posterior) -> str:
    """Compare two posteriors in an aligned table."""
    ours, theirs = private.summary(), reference.summary()
    lines = [
        f"{'':<6}{private.statement.label:^34}{reference.statement.label:^34}",
        f"{'':<6}" + f"{'mean':>12}{'sd':>12}{'ess':>8}  " * 2 + f"{'off by':>10}",
    ]
    for name in ours.index:
        row = f"{name:<6}"
        for table in (ours, theirs):
            mean, sd, ess = table.loc[name, ["mean", "sd", "ess_bulk"]]
            row += f"{mean:>12.5f}{sd:>12.5f}{ess:>8.0f}  "
        off = (ours["mean"][name] - theirs["mean"][name]) / theirs["sd"][name]
        lines.append(f"{row}{off:>+7.2f} sd")
    return "\n".join(lines)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--reference-steps", type=int, default=8_000)
    parser.add_argument("--simulation-seed", type=int, default=20_19)
    parser.add_argument("--out", type=Path, default=Path("demo-output"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
