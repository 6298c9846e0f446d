# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas: accuracy of every family, real tables, predictions, synthetic tables.

Run: python benchmarks/formulas.py [--quick] [--runs 10] [--records 100000]
[--parts simulated,nuts,real,synthetic] [--data FOLDER] [--only NAME] [--out FILE.json]

* simulated: the mean error of private means in posterior sd, how many of the 94%
  intervals hold the truth, and how much wider they are than without privacy.
* nuts: NUTS on the same density against `sample_not_private`, at 2,000 records.
* real: the same against the posterior without privacy, and how well predictions for
  rows that were left out are calibrated, private and not.
* synthetic: a regression on synthetic tables, put together by `combine`, beside that on
  the real table; and the marginal of the response, beside that of another real table.

The posterior without privacy is drawn by NUTS from the prior and the log-likelihood to
second order at its mode, which at these sizes is exact but for a fraction of an sd.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
from _formula_cases import (
    BOUNDS,
    LEVELS,
    REAL,
    SIMULATED,
    Case,
    covariates,
    real_table,
)
from jax.flatten_util import ravel_pytree
from numpyro.infer import MCMC, NUTS
from scipy.optimize import minimize
from scipy.stats import ks_2samp

import dpmcmc
from dpmcmc.models.formulas import Predictor, regression_of

EPSILON, DELTA = 1.0, 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="small, to see that it runs"
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--parts", default="simulated,nuts,real,synthetic")
    parser.add_argument("--only", default="", help="names of cases, with semicolons")
    parser.add_argument("--data", type=Path, help="folder of the real tables")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.runs, chosen.records = 1, 20_000
    found: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, **vars(chosen)}
    found = {
        name: str(one) if isinstance(one, Path) else one for name, one in found.items()
    }
    only = set(filter(None, chosen.only.split(";")))
    parts = {"simulated": simulated, "nuts": nuts, "real": real, "synthetic": synthetic}
    for name in chosen.parts.split(","):
        if name == "real" and chosen.data is None:
            print("\nReal tables are left out, since no folder of them was given.")
            continue
        found[name] = parts[name](chosen, only)
        if chosen.out is not None:
            chosen.out.write_text(json.dumps(found, indent=1))


def simulated(chosen: argparse.Namespace, only: set[str]) -> dict[str, Any]:
    print(f"\n{'simulated':<22}{'error':>8}{'worst':>8}{'held':>8}{'wider':>8}{'s':>7}")
    found = {}
    for name, case in SIMULATED.items():
        if only and name not in only:
            continue
        runs = []
        for seed in range(chosen.runs):
            jax.clear_caches()  # every seed has a model of its own: programs pile up
            model, table, truth = made(case, chosen.records, seed)
            exact = reference(model, table)
            began = time.perf_counter()
            private = drawn(model, table)
            if isinstance(private, str):
                runs.append({"stopped": private})
                continue
            runs.append(
                {
                    **against(private, exact, truth),
                    "seconds": time.perf_counter() - began,
                }
            )
        found[name] = runs
        show(name, runs)
    return found


def nuts(chosen: argparse.Namespace, only: set[str]) -> dict[str, Any]:
    """Means of both, apart by how many Monte-Carlo standard errors."""
    del chosen
    print(f"\n{'nuts, 2,000 records':<22}{'apart':>8} standard errors, at most")
    found = {}
    for name, case in SIMULATED.items():
        if only and name not in only:
            continue
        model, table, _ = made(case, 2000, 0)
        exact = reference(model, table, is_quadratic=False)
        try:
            ours = dpmcmc.sample_not_private(model, table, seed=1, progress=False)
        except (dpmcmc.NotUsableError, dpmcmc.StoppedError) as stopped:
            found[name] = str(stopped)
            print(f"{name:<22} stopped", flush=True)
            continue
        summary = ours.summary()
        theirs = pd.DataFrame(
            {"mean": exact.mean(axis=0), "sd": exact.std(axis=0)}, summary.index
        )
        errors = theirs["sd"] * np.sqrt(1 / summary["ess_bulk"] + 1 / 500)
        apart = (summary["mean"] - theirs["mean"]).abs() / errors
        found[name] = apart.to_dict()
        print(f"{name:<22}{apart.max():>8.2f}  {apart.idxmax()}", flush=True)
    return found


def real(chosen: argparse.Namespace, only: set[str]) -> dict[str, Any]:
    print(f"\n{'real tables':<22}{'error':>8}{'worst':>8}{'':>8}{'wider':>8}{'s':>7}")
    found = {}
    for name, case in REAL.items():
        if only and name not in only:
            continue
        table = real_table(case, chosen.data)
        if chosen.quick:
            table = table.sample(min(len(table), chosen.records), random_state=0)
        order = np.random.default_rng(0).permutation(len(table))
        held = table.iloc[order[:5000]].reset_index(drop=True)
        rest = table.iloc[order[5000:]].reset_index(drop=True)
        model = dpmcmc.formula(
            case.formula, family=case.family, bounds=case.bounds, levels=case.levels
        )
        exact = reference(model, rest)
        runs, calibrations = [], []
        for _ in range(max(1, chosen.runs // 2)):
            began = time.perf_counter()
            private = drawn(model, rest)
            if isinstance(private, str):
                runs.append({"stopped": private})
                continue
            runs.append(
                {
                    **against(private, exact, None),
                    "seconds": time.perf_counter() - began,
                }
            )
            calibrations.append(calibration(private, held))
        show(name, runs)
        without = calibration(as_posterior(model, exact), held)
        print(
            f"  calibration: private {calibrations}; not private {without}", flush=True
        )
        found[name] = {
            "records": len(rest),
            "runs": runs,
            "private": calibrations,
            "not private": without,
        }
    return found


def synthetic(chosen: argparse.Namespace, only: set[str]) -> dict[str, Any]:
    """How often intervals from ten synthetic tables hold the truth, and how wide.

    ``apart`` is how far estimates are from those of the real table, in their standard
    errors; ``marginal`` the largest distance between distribution functions of the
    response of a synthetic table and the real one, and ``usual`` between two real ones.
    """
    del only
    case, repeats = SIMULATED["gaussian"], 2 if chosen.quick else 40
    held, widths, apart, stopped = [], [], [], 0
    marginal: dict[str, list[float]] = {"marginal": [], "usual": []}
    for seed in range(repeats):
        model, table, truth = made(case, chosen.records, 1000 + seed)
        private = drawn(model, table)
        if isinstance(private, str):
            stopped += 1
            continue
        public = covariates(chosen.records, np.random.default_rng(5000 + seed))
        tables = private.synthesize(
            chosen.records, covariates=public, tables=10, seed=seed
        ).tables
        fits = [least_squares(one) for one in tables]
        real, variance = least_squares(table)
        real_sd = np.sqrt(variance)
        values = np.array([truth["Intercept"], *truth["coefficients"]])
        another = made(case, chosen.records, 9000 + seed)[1]
        for name, one in {"marginal": tables[0], "usual": another}.items():
            marginal[name].append(float(ks_2samp(one["y"], table["y"]).statistic))
        for place in range(len(values)):
            one = dpmcmc.combine(
                [fit[0][place] for fit in fits], [fit[1][place] for fit in fits]
            )
            held.append(one.low <= values[place] <= one.high)
            widths.append(one.sd / real_sd[place])
            apart.append(abs(one.estimate - real[place]) / real_sd[place])
    answer = {
        "held": float(np.mean(held)),
        "wider": float(np.mean(widths)),
        "apart": float(np.mean(apart)),
        "stopped": stopped,
        **{name: float(np.mean(values)) for name, values in marginal.items()},
    }
    print(f"\nsynthetic tables: {answer} over {repeats} repeats", flush=True)
    return {**answer, "repeats": repeats}


def made(case: Case, count: int, seed: int) -> tuple[Any, pd.DataFrame, dict[str, Any]]:
    """A model, and a table that is simulated with the true parameters."""
    model = dpmcmc.formula(
        case.formula,
        family=case.family,
        bounds={**BOUNDS, **case.bounds},
        levels={**LEVELS, **case.levels},
    )
    truth = {name: np.asarray(value, float) for name, value in case.truth.items()}
    predictor = Predictor(
        model.declared, {name: value[None] for name, value in truth.items()}
    )
    table = covariates(count, np.random.default_rng(seed))
    made = predictor.responses(predictor.rows(table), seed)
    response = predictor.regression.response
    for name, values in made.items():
        table[name] = values[0]
    levels = predictor.regression.declared.levels.get(response.name)
    if levels is not None and levels.is_text:
        table[response.name] = [
            levels.names[int(code)] for code in table[response.name]
        ]
    return model, table, truth


def drawn(model: Any, table: pd.DataFrame) -> Any:
    """A private posterior, or why the run stopped."""
    try:
        return dpmcmc.sample(model, table, epsilon=EPSILON, delta=DELTA, progress=False)
    except dpmcmc.NotUsableError as stopped:
        return str(stopped)


def reference(model: Any, table: pd.DataFrame, is_quadratic: bool = True) -> np.ndarray:
    """Draws of the posterior without privacy, as they are shown: (draws, titles)."""
    regression = regression_of(model.declared)
    with jax.enable_x64(True):
        columns = Predictor(model.declared, {}).rows(table, with_response=True).columns
        start, unravel = ravel_pytree(jax.tree.map(np.asarray, model.initial))

        @jax.jit
        def likelihood(point: Any) -> Any:
            each = jax.vmap(regression.log_likelihood, (None, 0))
            return each(unravel(point), columns).sum()

        def both(point: Any) -> Any:
            return -likelihood(point) - regression.log_prior(unravel(point))

        value = jax.jit(jax.value_and_grad(both))
        best = minimize(
            lambda x: tuple(np.asarray(one, float) for one in value(x)),
            np.asarray(start, float),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000, "maxfun": 4000},
        ).x
        potential = both
        if is_quadratic:
            slope = jax.jit(jax.grad(likelihood))(best)
            bend = jax.jit(jax.hessian(likelihood))(best)

            def potential(point: Any) -> Any:
                move = point - best
                quadratic = slope @ move + 0.5 * move @ bend @ move
                return -quadratic - regression.log_prior(unravel(point))

        kernel = NUTS(potential_fn=potential, dense_mass=True)
        chain = MCMC(kernel, num_warmup=500, num_samples=1000, progress_bar=False)
        chain.run(jax.random.key(0), init_params=best)
        shown = jax.vmap(lambda point: regression.shown(unravel(point)))(
            chain.get_samples()
        )
    return np.concatenate(
        [np.asarray(one).reshape(1000, -1) for one in shown.values()], axis=1
    )


def against(private: Any, exact: np.ndarray, truth: Any) -> dict[str, Any]:
    """Errors of private means in posterior sd, and intervals beside the truth."""
    summary = private.summary()
    mean, sd = exact.mean(axis=0), exact.std(axis=0)
    error = np.abs(summary["mean"].to_numpy() - mean) / sd
    answer: dict[str, Any] = {
        "error": dict(zip(private.titles, error.tolist(), strict=True)),
        "wider": float(np.median(summary["sd"].to_numpy() / sd)),
        "verdict": private.statement.verdict.usability,
    }
    if truth is not None:
        values = np.concatenate([truth[name].ravel() for name in private.draws])
        low, high = (summary[f"hdi_{end}%"].to_numpy() for end in (3, 97))
        answer["held"] = ((low <= values) & (values <= high)).tolist()
    return answer


def show(name: str, runs: list[dict[str, Any]]) -> None:
    good = [run for run in runs if "error" in run]
    if not good:
        print(f"{name:<22} stopped {len(runs)} times", flush=True)
        return
    errors = np.array([list(run["error"].values()) for run in good])
    held = [one for run in good for one in run.get("held", [])]
    print(
        f"{name:<22}{errors.mean():>8.2f}{errors.mean(axis=0).max():>8.2f}"
        f"{np.mean(held) if held else np.nan:>8.2f}"
        f"{np.mean([run['wider'] for run in good]):>8.2f}"
        f"{np.mean([run['seconds'] for run in good]):>7.1f}"
        f"  {', '.join(sorted({run['verdict'] for run in good}))}",
        flush=True,
    )


def calibration(posterior: Any, held: pd.DataFrame) -> dict[str, float]:
    """Of rows that were left out: intervals, or probabilities in ten classes."""
    response = Predictor(posterior.declared, {}).regression.response
    if response.kind == "yes-no":
        predicted = posterior.predict(held).draws["mean"].mean(axis=(0, 1))
        observed = held[response.name]
        if response.levels:
            observed = observed == response.levels[1]
        observed = observed.to_numpy(float)
        classes = np.array_split(np.argsort(predicted), 10)
        gaps = [predicted[one].mean() - observed[one].mean() for one in classes]
        return {
            "mean gap": float(np.mean(np.abs(gaps))),
            "brier": float(np.mean((predicted - observed) ** 2)),
        }
    checked = posterior.predictive(held, check=True, seed=0)
    return {f"{one:.0%}": checked.coverage(one) for one in (0.5, 0.8, 0.94)}


def as_posterior(model: Any, draws: np.ndarray) -> Any:
    """Draws without privacy as a posterior, to be asked the same."""
    shown = jax.eval_shape(model.transform, jax.tree.map(np.asarray, model.initial))
    made, start = {}, 0
    for name, leaf in shown.items():
        made[name] = draws[:, start : start + leaf.size].reshape(1, -1, *leaf.shape)
        start += leaf.size
    accepted = np.ones((1, len(draws)), bool)
    nothing = {name: one[:, :0] for name, one in made.items()}
    statement = dpmcmc.Statement(np.inf, 1.0, 1, (), "none", 1.0)
    return dpmcmc.Posterior(
        made,
        accepted,
        statement,
        made,
        nothing,
        accepted[:, :0],
        coords=model.coords,
        dims=model.dims,
        declared=model.declared,
    )


def least_squares(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of a linear regression, and their squared standard errors."""
    x = np.column_stack(
        [
            np.ones(len(table)),
            table["age"].astype(float),
            np.log(table["income"].astype(float)),
            table["region"] == "south",
            table["region"] == "west",
        ]
    ).astype(float)
    y = table["y"].to_numpy(float)
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ (x.T @ y)
    variance = np.sum((y - x @ slopes) ** 2) / (len(y) - x.shape[1])
    return slopes, variance * np.diag(inverse)


if __name__ == "__main__":
    main()
