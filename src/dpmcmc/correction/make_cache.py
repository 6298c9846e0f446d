# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Write the stored fits again: ``python -m dpmcmc.correction.make_cache``.

Takes two minutes, nearly all of it for the mixtures. The files go into the package's
source, or where ``--out`` says.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from dpmcmc.correction.distribution import Correction
from dpmcmc.correction.mixture import gaussian_mixture
from dpmcmc.correction.programme import linear_programme
from dpmcmc.correction.stored import STORED_SEED

__all__ = ["COMMON", "main", "write_fits"]

COMMON = (0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0)
"""The C whose fits are stored."""


def main(arguments: list[str] | None = None) -> None:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(description="Write the stored corrections again.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "fits")
    out = parser.parse_args(arguments).out
    write_fits(out, "linear_programme", linear_programme)
    write_fits(
        out,
        "gaussian_mixture",
        lambda variance: gaussian_mixture(variance, seed=STORED_SEED),
    )


def write_fits(
    out: Path,
    method: str,
    fit: Callable[[float], Correction],
    variances: Sequence[float] = COMMON,
) -> None:
    """Fit each C by one method, print its sup-error, and write all to one file."""
    fits = []
    for variance in variances:
        begun = time.perf_counter()
        made = fit(variance)
        seconds = time.perf_counter() - begun
        print(
            f"{method:<17} C = {variance:<5g} sup-error {made.sup_error():.3g}, "
            f"{len(made.weights)} components, {seconds:.2f} s",
            flush=True,
        )
        fits.append({k: v for k, v in asdict(made).items() if k != "method"})
    lines = ",\n".join(json.dumps(each) for each in fits)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{method}.json").write_text(
        f'{{"method": "{method}", "fits": [\n{lines}\n]}}\n', encoding="utf-8"
    )


if __name__ == "__main__":
    main()
