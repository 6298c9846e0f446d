# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The audit: attacks on every stage that reads records, and bugs planted to be caught.

Attacks run the true code on two tables that differ in one record, and bound ε from
below by what they see. Nothing of the package depends on this room.
"""

from dpmcmc.audit.attack import Attack, Check, Finding, Size
from dpmcmc.audit.catalogue import Audit, audit
from dpmcmc.audit.picture import plot_audit

__all__ = ["Attack", "Audit", "Check", "Finding", "Size", "audit", "plot_audit"]
