# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command line as ``python -m dpmcmc.cli``."""

import sys

from dpmcmc.cli import main

sys.exit(main())
