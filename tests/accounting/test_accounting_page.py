# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The page about costs: its code runs, and its table is what the accountants say."""

import re
from pathlib import Path

import pytest

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    MinibatchBit,
    certify_epsilon,
)

PAGE = (Path(__file__).parents[2] / "docs" / "accounting.md").read_text("utf-8")
RELEASED = {
    "1,000 decisions, clip 0.01": {BarkerBit(0.01, 10**6): 1000},
    "the same by the paper's Gaussian test": {GaussianBarkerBit(0.01, 10**6): 1000},
    "20,000 decisions on batches of 1,000 of 10⁶": {MinibatchBit(1000, 10**6): 20_000},
    "μ = 0.1, and 4,000 decisions with clip 0.001": {
        GaussianRelease(0.1): 1,
        BarkerBit(0.001, 10**6): 4000,
    },
    "μ = 1, and 4,000 decisions with clip 0.008": {
        GaussianRelease(1.0): 1,
        BarkerBit(0.008, 10**6): 4000,
    },
    "1,000 sums over batches of 4,000 of 10⁶, noise 6": {
        GaussianBatchSum(6.0, 4000, 10**6): 1000
    },
}


def rows():
    lines = PAGE[PAGE.index("| released |") :].splitlines()
    head, _, *body = [line.strip("| ").split(" | ") for line in lines if "|" in line]
    return [dict(zip(head, cells, strict=True)) for cells in body]


def test_every_case_is_on_the_page():
    assert [row["released"] for row in rows()] == list(RELEASED)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["released"])
def test_the_table_is_what_the_accountants_say(row):
    certificate = certify_epsilon(RELEASED[row["released"]], float(row["δ"]))
    found = {
        name: f"{epsilon:.4f}"
        for name, epsilon, _ in certificate.alternatives
        if epsilon < float("inf")
    }
    shown = {
        name: cell
        for name, cell in row.items()
        if name not in ("released", "δ") and cell != "–"
    }
    assert found == shown


def test_the_code_on_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, {})
    epsilon, accountant, scale = capsys.readouterr().out.split()
    assert 0 < float(epsilon) < 10
    assert accountant == "blocks"
    assert float(scale) == pytest.approx(0.24, rel=0.05)
