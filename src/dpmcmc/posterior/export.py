# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables as files for other programs, each with the privacy statement beside it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.posterior.statement import Statement

if TYPE_CHECKING:
    import pandas

    from dpmcmc.posterior.posterior import Posterior

__all__ = ["statement_beside", "table_of_draws", "write_table"]


def table_of_draws(posterior: "Posterior") -> "pandas.DataFrame":
    """One row a draw, as R's ``posterior`` and Stan's tools have it.

    ``.chain``, ``.iteration`` and ``.draw`` count from 1; every other column is a
    coordinate, called by its title.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    chains, draws = posterior.accepted.shape
    made = {
        ".chain": np.repeat(np.arange(1, chains + 1), draws),
        ".iteration": np.tile(np.arange(1, draws + 1), chains),
        ".draw": np.arange(1, chains * draws + 1),
    }
    columns = [
        values[(..., *index)].reshape(-1)
        for values in posterior.draws.values()
        for index in np.ndindex(values.shape[2:])
    ]
    return pd.DataFrame({**made, **dict(zip(posterior.titles, columns, strict=True))})


def write_table(
    table: "pandas.DataFrame", path: str | Path, statement: Statement
) -> None:
    """Write a table as .csv or .parquet, and the statement to a text beside it.

    A Parquet file has the statement in its metadata, too, as ``dpmcmc_statement``.

    Raises
    ------
    InputError
        If the ending is another, the folder does not exist, or it cannot be written.
    """
    target = Path(path)
    if target.suffix not in (".csv", ".parquet"):
        raise InputError(f"{target} must end in .csv or .parquet. Rename it.")
    try:
        if target.suffix == ".csv":
            table.to_csv(target, index=False)
        else:
            _write_parquet(table, target, statement)
        statement_beside(target).write_text(f"{statement}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{target} cannot be written ({(error.strerror or 'unknown').lower()}). "
            "Make its folder, or write elsewhere; nothing is lost."
        ) from None


def statement_beside(path: Path) -> Path:
    """Where the statement of a file is."""
    return path.with_name(f"{path.name}.statement.txt")


def _write_parquet(
    table: "pandas.DataFrame", target: Path, statement: Statement
) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            "Parquet files need pyarrow, which is not installed. Install it with: pip "
            "install 'dpmcmc[files]'; or write a .csv file."
        ) from None
    made = pa.Table.from_pandas(table, preserve_index=False)
    label = json.dumps({"label": statement.label})
    own = {"dpmcmc_statement": statement.to_json(), "dpmcmc": label}
    pq.write_table(
        made.replace_schema_metadata({**(made.schema.metadata or {}), **own}), target
    )
