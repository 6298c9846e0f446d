# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The whole job, as a person does it: table, model, ledger, folder and report."""

from dpmcmc.workflow.custody import Ask, FolderCustody, LedgerCustody
from dpmcmc.workflow.job import Job, Outcome, report, resume, run
from dpmcmc.workflow.rehearsing import rehearse
from dpmcmc.workflow.study import LoadedStudy, Study, load_study

__all__ = [
    "Ask",
    "FolderCustody",
    "Job",
    "LedgerCustody",
    "LoadedStudy",
    "Outcome",
    "Study",
    "load_study",
    "rehearse",
    "report",
    "resume",
    "run",
]
