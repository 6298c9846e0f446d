# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A rehearsal of a job: what its budget would buy, on simulated records."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dpmcmc.errors import InputError, require_count
from dpmcmc.private import Records
from dpmcmc.rehearsal import Choice, choose
from dpmcmc.workflow.study import Study, load_study

__all__ = ["rehearse"]


def rehearse(
    model: str,
    *,
    epsilon: float,
    delta: float,
    records: int | None = None,
    data: str | None = None,
    columns: tuple[str, ...] | None = None,
    levels: Mapping[str, tuple[str, ...]] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    progress: bool = True,
) -> Choice:
    """Choose a way on simulated records, as a run would; no privacy is spent.

    Parameters
    ----------
    model
        The Python file of the model, and its name in it.
    epsilon, delta
        The budget to try.
    records
        How many records there are; unless given, as many as in ``data``.
    data
        A data file, of which the names of the columns and the number of records are
        used.
    columns, levels, bounds
        As in `Job`.
    progress
        Whether to show progress bars.
    """
    study = load_study(model).study
    study = replace(
        study,
        columns=study.columns if columns is None else columns,
        levels={**(study.levels or {}), **(levels or {})},
    ).within(bounds or {})
    return choose(
        study.model,
        _stand_in(study, records, data),
        epsilon=epsilon,
        delta=delta,
        covariates=study.covariates,
        preparation=study.preparation,
        plate=study.plate,
        progress=progress,
    )


def _stand_in(study: Study, records: int | None, data: str | None) -> Records:
    """Zeros in the shape of the records, for a choice that looks at shapes alone."""
    names = study.names()
    if data is not None:
        file = study.open(data)
        count = len(file) if records is None else records
        kinds = file.schema
    elif names is None or records is None:
        raise InputError(
            "the shape of the records is not known. Give data; or the number of "
            "records and the columns that the model reads."
        )
    else:
        count, kinds = records, dict.fromkeys(names, np.dtype(np.float64))
    count = require_count("records", count, "Give the number of records.")
    return Records({name: np.zeros(count, kind) for name, kind in kinds.items()})
