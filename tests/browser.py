# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests: Chromium, driven by its own driver over WebDriver."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

WHY_NOT = "there is no Chromium here: install Debian's chromium and chromium-driver"

_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",  # root may not have one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
]


def is_installed() -> bool:
    """Whether there is a browser and its driver."""
    return all(shutil.which(name) for name in ("chromium", "chromedriver"))


class Browser:
    """One window of a browser."""

    def __init__(self, address: str) -> None:
        # The driver is on this machine: no proxy stands between.
        self._opener = build_opener(ProxyHandler({}))
        self._address = address
        wanted = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {
                "args": _ARGUMENTS,
                "binary": shutil.which("chromium"),
            },
        }
        session = self._ask(
            "POST", "/session", {"capabilities": {"alwaysMatch": wanted}}
        )
        self._address = f"{address}/session/{session['sessionId']}"

    def open(self, page: Path) -> None:
        self._ask("POST", "/url", {"url": page.absolute().as_uri()})

    def resize(self, width: int, height: int) -> None:
        """Make the page itself this wide and this high."""
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": False,
        }
        self.command("Emulation.setDeviceMetricsOverride", metrics)

    def emulate(self, *, scheme: str, media: str = "") -> None:
        """Be read by someone who wants it light or dark, on a screen or on paper."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        settings = {"media": media, "features": [feature]}
        self.command("Emulation.setEmulatedMedia", settings)

    def run(self, script: str) -> Any:
        """The value of a script, run in the page."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def console(self) -> list[str]:
        """What the page has written to the console since the last call."""
        entries = self._ask("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def command(self, name: str, settings: dict[str, Any]) -> Any:
        """A command of the DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": settings})

    def picture(self) -> bytes:
        """The whole page as PNG."""
        size = self.command("Page.getLayoutMetrics", {})["cssContentSize"]
        taken = self.command(
            "Page.captureScreenshot",
            {"captureBeyondViewport": True, "clip": {**size, "scale": 1}},
        )
        return base64.b64decode(taken["data"])

    def print_page(self) -> bytes:
        """The page as a PDF, on A4."""
        paper = {"page": {"width": 21.0, "height": 29.7}, "background": False}
        return base64.b64decode(self._ask("POST", "/print", paper))

    def close(self) -> None:
        self._ask("DELETE", "", None)

    def _ask(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(
            self._address + path,
            data=data,
            method=method,
            headers={"Content-Type": "application/json"},
        )
        with self._opener.open(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]


@contextmanager
def browsing(log: Path) -> Iterator[Browser]:
    """A browser that is always closed at the end.

    The driver chooses a free port itself, and says which in its log.
    """
    with log.open("w") as sink:
        driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=sink, text=True
        )
        try:
            browser = Browser(f"http://127.0.0.1:{_port(driver)}")
            try:
                yield browser
            finally:
                browser.close()
        finally:
            driver.terminate()
            driver.communicate(timeout=30)


def _port(driver: "subprocess.Popen[str]") -> int:
    assert driver.stdout is not None
    for line in driver.stdout:
        found = re.search(r"started successfully on port (\d+)", line)
        if found:
            return int(found[1])
    raise RuntimeError("the driver of the browser ended before it began")
