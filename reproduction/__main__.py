# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m reproduction``."""

import sys

from reproduction.reproduce import main

sys.exit(main())
