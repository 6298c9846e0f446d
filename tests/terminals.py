# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A terminal that remembers what it was shown, for tests of progress bars."""

import io
import re


class Terminal(io.StringIO):
    """Stands for a terminal, where bars are shown."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """All that was written."""
        return self.getvalue()

    @property
    def labels(self) -> list[str]:
        """The labels of all bars, in order, each once."""
        lines = re.split(r"[\r\n]+", self.shown)
        bars = [line for line in lines if "[" in line]
        found = [re.split(r": +\d|: 0", line)[0] for line in bars]
        return list(dict.fromkeys(found))
