# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The whole job, as a person does it: table, model, ledger, folder and report."""

from dpmcmc.workflow.checkpoints import (
    Ask,
    FolderCheckpoint,
    LedgerCheckpoint,
    Question,
)
from dpmcmc.workflow.following import follow
from dpmcmc.workflow.interrupted import how_it_stands, interrupted
from dpmcmc.workflow.job import Job
from dpmcmc.workflow.running import (
    Outcome,
    budget_of,
    report,
    resume,
    run,
    write_filing,
)
from dpmcmc.workflow.shared_checkpoint import SharedCheckpoint
from dpmcmc.workflow.signing import Checked, sign, verify
from dpmcmc.workflow.study import Study, load_study, study_of

__all__ = [
    "Ask",
    "Checked",
    "FolderCheckpoint",
    "Job",
    "LedgerCheckpoint",
    "Outcome",
    "Question",
    "SharedCheckpoint",
    "Study",
    "budget_of",
    "follow",
    "how_it_stands",
    "interrupted",
    "load_study",
    "report",
    "resume",
    "run",
    "sign",
    "study_of",
    "verify",
    "write_filing",
]
