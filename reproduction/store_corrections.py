# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Write the package's stored corrections again.

Run ``python -m reproduction.store_corrections``. It takes some seconds, and prints the
sup-error of each.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from dpmcmc.correction import linear_programme

__all__ = ["COMMON", "write_fits"]

COMMON = (0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0)
"""The C whose fits are stored."""


def write_fits(path: Path, variances: Sequence[float] = COMMON) -> None:
    """Fit each C and write all fits to one file."""
    fits = [linear_programme(variance) for variance in variances]
    for fit in fits:
        print(
            f"C = {fit.variance:<5g} sup-error {fit.sup_error():.3g}, "
            f"{len(fit.weights)} components"
        )
    lines = ",\n".join(json.dumps(asdict(fit)) for fit in fits)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    write_fits(Path(str(resources.files("dpmcmc.correction") / "stored.json")))
