# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Files: tables of records as columns, and the folder that a run writes.

`DataFile` hands sensitive columns to the privacy boundary; nothing that it says depends
on a record. `RunFolder` holds what was released, and nothing else.
"""

from dpmcmc.files.data_file import DataFile
from dpmcmc.files.problems import FileError
from dpmcmc.files.run_folder import RunFolder
from dpmcmc.files.schema_file import read_schema, schema_template

__all__ = ["DataFile", "FileError", "RunFolder", "read_schema", "schema_template"]
