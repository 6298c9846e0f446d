# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables, written as the name of a file says."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather


def write(table: pa.Table, path: Path) -> Path:
    """Write a table as the name of the file says."""
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=2)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=2)
    return path
