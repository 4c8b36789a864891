"""Chromium without a window, for tests of pages: what it draws, measures and complains of."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_TIMEOUT_S = 600
# Measured once all is laid out; the pointer then rests on the middle of the first figure.
_MEASURE = """
<script>
window.addEventListener("load", function () {
  var overlaps = [], outside = [];
  Array.from(document.querySelectorAll("svg.figure")).forEach(function (figure) {
    var frame = figure.getBoundingClientRect();
    if (!frame.width) { return; }
    var boxes = Array.from(figure.querySelectorAll("text:not(.anomaly)")).map(function (one) {
      return [one.textContent, one.getBoundingClientRect()];
    });
    boxes.forEach(function (a, at) {
      var box = a[1];
      if (box.left < frame.left - 1 || box.right > frame.right + 1) { outside.push(a[0]); }
      boxes.slice(at + 1).forEach(function (b) {
        var width = Math.min(box.right, b[1].right) - Math.max(box.left, b[1].left);
        var height = Math.min(box.bottom, b[1].bottom) - Math.max(box.top, b[1].top);
        if (width > 1 && height > 4) { overlaps.push(a[0] + " | " + b[0]); }
      });
    });
  });
  var figure = document.querySelector("svg.figure");
  if (figure) {
    var box = figure.getBoundingClientRect();
    figure.dispatchEvent(new PointerEvent("pointermove", {
      clientX: box.left + box.width / 2, clientY: box.top + 100, bubbles: true
    }));
  }
  var tip = document.querySelector(".tip");
  var field = document.querySelector("input[type=search]"), rows = null;
  if (field) {
    field.value = "kill";
    field.dispatchEvent(new Event("input"));
    rows = field.parentNode.querySelectorAll("tbody tr:not([hidden])").length;
  }
  document.body.setAttribute("data-measured", JSON.stringify({
    scroll_width: document.documentElement.scrollWidth,
    width: document.documentElement.clientWidth,
    overlaps: overlaps,
    outside: outside,
    tip: tip ? tip.textContent : "",
    rows: rows,
    ground: getComputedStyle(document.body).backgroundColor
  }));
});
</script>
"""


def installed() -> str | None:
    """The program, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass(frozen=True, slots=True)
class Seen:
    """A page as it was laid out."""

    measured: dict[str, Any]  # by the script above
    complaints: list[str]
    """Lines of the console."""


class Browser:
    """Loads pages from `folder`; each look is a process of its own, gone when it returns."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def look(self, page: str, *, width: int = 1280, is_dark: bool = False) -> Seen:
        """Lay a page out and measure it."""
        measuring = page.replace("</body>", f"{_MEASURE}</body>")
        done = self._run(self._file(measuring), "--dump-dom", width=width, is_dark=is_dark)
        value = done.stdout.partition('data-measured="')[2].partition('"')[0]
        complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return Seen(json.loads(unescape(value)), complaints)

    def picture(self, page: str, *, width: int = 1280, height: int = 1400) -> bytes:
        """A PNG of it."""
        target = self._folder / "page.png"
        self._run(self._file(page), f"--screenshot={target}", width=width, height=height)
        return target.read_bytes()

    def _file(self, page: str) -> Path:
        path = self._folder / "page.html"
        path.write_text(page, encoding="utf-8")
        return path

    def _run(
        self, path: Path, what: str, *, width: int, height: int = 1000, is_dark: bool = False
    ) -> subprocess.CompletedProcess[str]:
        command = [
            self._program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--disable-dev-shm-usage", "--enable-logging=stderr", "--virtual-time-budget=3000",
            f"--user-data-dir={self._folder / 'profile'}", f"--window-size={width},{height}",
            f"--blink-settings=preferredColorScheme={0 if is_dark else 1}",
            what, path.as_uri(),
        ]  # fmt: skip
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S
        )
