# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Published examples of NumPyro and PyMC, unchanged, against NUTS.

Run: python benchmarks/published_examples.py --numpyro CHECKOUT --pymc CHECKOUT
[--records 50000] [--only NAME;NAME] [--out FILE.json]

The folders are checkouts of NumPyro's own repository, and of that of PyMC's examples.
Models are loaded from their files and run on simulated records of their kind: by NUTS
in the library that they are written for, by `sample_not_private`, and by `sample`.
Shown are the largest difference of posterior means in posterior sd of NUTS, without
and with privacy, the median ratio of private sd to those of NUTS, and the verdicts.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
from _published_cases import NUMPYRO, PYMC, Case
from numpyro.infer import MCMC, NUTS

import dpmcmc

EPSILON, DELTA = 1.0, 1e-6
DRAWS, CHAINS = 500, 2
Draws = dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numpyro", type=Path, help="checkout of NumPyro")
    parser.add_argument("--pymc", type=Path, help="checkout of PyMC's examples")
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--only", default="", help="names of cases, with semicolons")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    only = set(filter(None, chosen.only.split(";")))
    found: dict[str, Any] = {"records": chosen.records, "epsilon": EPSILON}
    for folder, cases, measure in (
        (chosen.numpyro, NUMPYRO, of_numpyro),
        (chosen.pymc, PYMC, of_pymc),
    ):
        if folder is None:
            continue
        print(f"\n{'model':<24}{'not private':>12}{'private':>9}{'wider':>7}{'s':>6}")
        for name, case in cases.items():
            if only and name not in only:
                continue
            records = case.simulate(np.random.default_rng(11), chosen.records)
            found[name] = compared(case, folder, records, measure)
            show(name, found[name])
            if chosen.out is not None:
                chosen.out.write_text(json.dumps(found, indent=1))


def compared(
    case: Case,
    folder: Path,
    records: dict[str, np.ndarray],
    measure: Callable[..., tuple[Any, Draws]],
) -> dict[str, Any]:
    """Differences to NUTS of a model without and with privacy."""
    model, nuts = measure(case.load(folder), records)
    answer: dict[str, Any] = {}
    for kind, settings, function in (
        ("not private", {"seed": 1}, dpmcmc.sample_not_private),
        ("private", {"epsilon": EPSILON, "delta": DELTA}, dpmcmc.sample),
    ):
        began = time.perf_counter()
        try:
            posterior = function(model, records, progress=False, **settings)
        except dpmcmc.NotUsableError as stopped:
            answer[kind] = {"stopped": str(stopped)}
            continue
        answer[kind] = {
            **against(posterior.draws, nuts),
            "seconds": time.perf_counter() - began,
            "verdict": posterior.statement.verdict.usability,
        }
    return answer


def against(ours: Draws, nuts: Draws) -> dict[str, Any]:
    """Differences of the means in sd of NUTS, and ratios of the sd."""
    errors, ratios = {}, {}
    for name, theirs in nuts.items():
        mean, sd = theirs.mean(axis=(0, 1)), theirs.std(axis=(0, 1))
        off = np.abs(ours[name].mean(axis=(0, 1)) - mean) / sd
        errors[name] = np.ravel(off).tolist()
        ratios[name] = np.ravel(ours[name].std(axis=(0, 1)) / sd).tolist()
    return {"error": errors, "wider": ratios}


def show(name: str, found: dict[str, Any]) -> None:
    cells = []
    for kind in ("not private", "private"):
        errors = found[kind].get("error", {}).values()
        cells.append(f"{max(map(max, errors)):.2f}" if errors else "stopped")
    private = found["private"]
    ratios = [one for each in private.get("wider", {}).values() for one in each]
    wider = f"{np.median(ratios):.2f}" if ratios else ""
    seconds = f"{private['seconds']:.0f}" if ratios else ""
    verdicts = ", ".join(one.get("verdict", "stopped") for one in found.values())
    print(
        f"{name:<24}{cells[0]:>12}{cells[1]:>9}{wider:>7}{seconds:>6}  {verdicts}",
        flush=True,
    )


def of_numpyro(model: Any, records: dict[str, np.ndarray]) -> tuple[Any, Draws]:
    """The model, and draws of NumPyro's NUTS."""
    with jax.enable_x64(True):
        sampler = MCMC(
            NUTS(model),
            num_warmup=DRAWS,
            num_samples=DRAWS,
            num_chains=CHAINS,
            chain_method="vectorized",
            progress_bar=False,
        )
        columns = {name: jax.numpy.asarray(column) for name, column in records.items()}
        sampler.run(jax.random.key(5), **columns)
        drawn = sampler.get_samples(group_by_chain=True)
    return model, {name: np.asarray(one) for name, one in drawn.items()}


def of_pymc(model: Any, records: dict[str, np.ndarray]) -> tuple[Any, Draws]:
    """The model, and draws of PyMC's NUTS in JAX."""
    from pymc.sampling.jax import (  # noqa: PLC0415 - sets JAX to 64 bits
        sample_numpyro_nuts,
    )

    ours = dpmcmc.PyMC(model)  # also gives PyTensor a tail function in JAX
    built = model(**pd.DataFrame(records))
    with jax.enable_x64(True):
        found = sample_numpyro_nuts(
            draws=DRAWS,
            tune=DRAWS,
            chains=CHAINS,
            random_seed=5,
            model=built,
            chain_method="vectorized",
            progressbar=False,
            compute_convergence_checks=False,
        )
    drawn = {one.name: found.posterior[one.name].to_numpy() for one in built.free_RVs}
    return ours, drawn


if __name__ == "__main__":
    main()
