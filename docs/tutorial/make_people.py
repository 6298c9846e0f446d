# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Make the tutorial's table: a simulated health survey, written to Parquet.

No person is in it. It has what real tables have: columns in different units, a long
tail of incomes, a few values that are missing or absurd.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

PEOPLE = 60_000


def make_people(seed: int = 2026) -> pd.DataFrame:
    """Simulate the survey; the same seed makes the same table."""
    generator = np.random.default_rng(seed)
    age = np.clip(generator.normal(49, 17, PEOPLE), 18, 97).round()
    income = generator.lognormal(np.log(31_000), 0.6, PEOPLE).round(-2)
    smoker = generator.random(PEOPLE) < 0.27 - 0.002 * (age - 49)
    exercise = generator.gamma(1.4, 2.0, PEOPLE).round(1)
    log_odds = (
        -1.1
        + 0.055 * (age - 49)
        - 0.30 * np.log(income / 31_000)
        + 0.45 * smoker
        - 0.09 * exercise
    )
    hypertension = generator.random(PEOPLE) < 1 / (1 + np.exp(-log_odds))
    income[generator.random(PEOPLE) < 0.01] = np.nan
    exercise[generator.random(PEOPLE) < 0.0005] = 168.0
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "smoker": smoker.astype("int8"),
            "exercise": exercise,
            "hypertension": hypertension.astype("int8"),
        }
    )


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "people.parquet")
    make_people().to_parquet(path)
    print(f"{path}: {PEOPLE:,} people")
