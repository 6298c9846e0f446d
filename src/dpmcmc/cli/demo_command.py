# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc demo``: the paper's mixture, drawn privately beside a chain that is not."""

import argparse
from dataclasses import replace
from pathlib import Path

import dpmcmc
from dpmcmc.cli.common import Code, Commands, add_command
from dpmcmc.errors import InputError

__all__ = ["add", "demonstrate"]

_EXAMPLES = """\
examples:
  dpmcmc demo
  dpmcmc demo --records 100000 --out here
"""
_LEAST = 1000
_SEED = 2019
_SCALE = 1.5
"""Moves of the reference chain, in posterior sds."""


def add(commands: Commands) -> None:
    """Add the command."""
    demo = add_command(
        commands,
        "demo",
        summary="draw a posterior of simulated records, in about a minute",
        description="Simulate the paper's mixture, draw its posterior privately, and "
        "beside it by a chain that is not private; write draws and a picture.",
        examples=_EXAMPLES,
    )
    demo.add_argument(
        "--records",
        type=int,
        default=1_000_000,
        metavar="N",
        help="how many records to simulate; default: a million",
    )
    demo.add_argument(
        "--out",
        type=Path,
        default=Path("demo-output"),
        metavar="DIR",
        help="folder for draws and picture; default: demo-output",
    )
    demo.set_defaults(run=_demo)


def _demo(chosen: argparse.Namespace) -> int:
    demonstrate(chosen.records, chosen.out)
    return Code.DONE


def demonstrate(count: int, out: Path, reference_steps: int = 4000) -> None:
    """Simulate records, draw both posteriors, print them, and write files."""
    import numpy as np  # noqa: PLC0415 - slow to import

    if count < _LEAST:
        raise InputError(
            f"--records is {count}; it must be at least {_LEAST}: a posterior from "
            "fewer records shows nothing but noise. Leave it out for a million."
        )
    out.mkdir(parents=True, exist_ok=True)
    print(f"Simulating {count:,} records of ½ N(0, 2) + ½ N(1, 2), the paper's mixture")
    generator = np.random.default_rng(_SEED)
    noise = generator.normal(scale=2**0.5, size=count)
    records = {"x": (generator.integers(0, 2, count) + noise).astype(np.float32)}
    # That there is a gap between the centres is known, but not how wide it is.
    model = replace(
        dpmcmc.models.two_component_mixture(bounds=(-100.0, 100.0)),
        initial={"mean": 0.0, "gap": 0.5},
    )
    private = dpmcmc.sample(model, records, epsilon=1.0, delta=1e-7)
    # What is private already may start and shape another chain.
    drawn = {name: private.draws[name].ravel() for name in ("mean", "gap")}
    shape = np.cov(np.stack([drawn[name] for name in sorted(drawn)]))
    reference = dpmcmc.sample_not_private(
        model,
        records,
        start={name: float(values.mean()) for name, values in drawn.items()},
        method=dpmcmc.Barker(proposal=dpmcmc.RandomWalk(_SCALE**2 * shape)),
        steps=reference_steps,
    )
    private.save(out / "private.nc")
    reference.save(out / "not-private.nc")
    dpmcmc.plot_posterior(
        {"private chain": private, "reference chain": reference}, out / "posterior.png"
    )
    print(f"\n{_side_by_side(private, reference)}\n")
    print(private.statement)
    print(
        "\nThe reference chain starts where the private one has led: (mean, gap) and\n"
        "(mean + gap, −gap) are the same two centres, and either may be found.\n"
        f"Draws and picture are in {out}/: private.nc, not-private.nc, posterior.png."
    )


def _side_by_side(private: "dpmcmc.Posterior", reference: "dpmcmc.Posterior") -> str:
    """Both posteriors in a table, with the error of the private means."""
    lines = [
        f"{'':<6}{private.statement.label:^34}{reference.statement.label:^34}",
        f"{'':<6}" + f"{'mean':>12}{'sd':>12}{'ess':>8}  " * 2 + f"{'error':>10}",
    ]
    ours, theirs = private.summary(), reference.summary()
    for name in ours.index:
        row = f"{name:<6}"
        for table in (ours, theirs):
            mean, sd, ess = table.loc[name, ["mean", "sd", "ess_bulk"]]
            row += f"{mean:>12.5f}{sd:>12.5f}{ess:>8.0f}  "
        error = (ours["mean"][name] - theirs["mean"][name]) / theirs["sd"][name]
        lines.append(f"{row}{error:>+7.2f} sd")
    return "\n".join(lines)
