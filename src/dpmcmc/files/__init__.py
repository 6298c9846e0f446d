# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Files: tables of records as columns, and the folder that a run writes.

`read_table` reads what is sensitive and hands it over; nothing that it says depends on
a record. `RunFolder` holds what was released, and nothing else.
"""

from dpmcmc.files.problems import FileError
from dpmcmc.files.run_folder import RunFolder
from dpmcmc.files.table import read_table

__all__ = ["FileError", "RunFolder", "read_table"]
