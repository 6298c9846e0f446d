# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the page on the ledger shows is what happens."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"

_VARYING = (
    r"\b[0-9a-f]{64}\b",
    r"\b[0-9a-f]{8}\b",
    r"\d{4}-\d\d-\d\d( \d\d:\d\d)?",
)


def steady(text: str) -> str:
    """Leave out ids, hashes and dates."""
    for pattern in _VARYING:
        text = re.sub(pattern, "…", text)
    return text.strip()


def test_the_page_prints_what_it_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.S)
    exec(code, {})
    assert steady(capsys.readouterr().out) == steady(shown)
