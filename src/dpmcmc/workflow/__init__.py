# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The whole job, as a person does it: table, model, ledger, folder and report."""

from dpmcmc.workflow.broken import broken_off, how_it_stands
from dpmcmc.workflow.custody import Ask, FolderCustody, LedgerCustody, Question
from dpmcmc.workflow.job import Job
from dpmcmc.workflow.rehearsing import rehearse
from dpmcmc.workflow.running import Outcome, report, resume, run
from dpmcmc.workflow.study import LoadedStudy, Study, load_study

__all__ = [
    "Ask",
    "FolderCustody",
    "Job",
    "LedgerCustody",
    "LoadedStudy",
    "Outcome",
    "Question",
    "Study",
    "broken_off",
    "how_it_stands",
    "load_study",
    "rehearse",
    "report",
    "resume",
    "run",
]
