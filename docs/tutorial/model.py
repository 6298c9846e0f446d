# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The tutorial's model: who has hypertension, given age, income, smoking, exercise."""

import jax
import jax.numpy as jnp

from dpmcmc.model.preparation import Clamp, Copy, Log, Preparation, Scale, Stack
from dpmcmc.models import logistic_regression
from dpmcmc.workflow import Study

# Bounds are public: they come from what the columns mean, not from the table.
LOG_INCOME = (jnp.log(5_000).item(), jnp.log(200_000).item())

columns = Preparation(
    {
        "age": [Clamp(18, 95), Scale(18, 95, to=(-1, 1))],
        "income": [Clamp(5_000, 200_000), Log(), Scale(*LOG_INCOME, to=(-1, 1))],
        "exercise": [Clamp(0, 10), Scale(0, 10, to=(-1, 1))],
        "x": Stack(["age", "income", "smoker", "exercise"]),
        "y": Copy("hypertension"),
    }
)
model = logistic_regression(4, norm=2.0, before=columns)


def covariates(key: jax.Array) -> dict[str, jax.Array]:
    """One made-up person as the model reads them, for rehearsals.

    Rough guesses are enough: adults of all ages, incomes about the middle of their
    range, one smoker in four, most people with a few hours of exercise.
    """
    ages, incomes, smokes, hours = jax.random.split(key, 4)
    x = jnp.stack(
        [
            jax.random.uniform(ages, minval=-1, maxval=1),
            jnp.clip(0.3 * jax.random.normal(incomes), -1, 1),
            jax.random.bernoulli(smokes, 0.25).astype(float),
            jnp.clip(0.5 * jax.random.exponential(hours) - 1, -1, 1),
        ]
    )
    return {"x": x, "y": jnp.zeros(())}


study = Study(model, covariates=covariates)
