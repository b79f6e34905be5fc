"""A progress bar in a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional


def _notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """Draws at most five times per second; on rank 0 of the launcher only."""

    WIDTH = 28

    def __init__(self, end: float, wanted: Optional[bool] = None):
        self.end, self.began, self.drawn = end, time.monotonic(), 0.0
        self.display: Any = None
        notebook = _notebook()
        self.shown = (notebook or sys.stderr.isatty()) if wanted is None else wanted
        if self.shown and notebook:
            from IPython.display import display

            self.display = display("", display_id=True)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.shown and self.display is None and self.drawn:
            sys.stderr.write("\n")

    def text(self, now: float) -> str:
        share = min(1.0, now / self.end) if self.end > 0 else 1.0
        spent = time.monotonic() - self.began
        left = spent * (1 - share) / share if share > 0 else 0.0
        full = int(self.WIDTH * share)
        return f"[{'#' * full}{'.' * (self.WIDTH - full)}] {now:.4f} of {self.end:g} s, {left:.0f} s left"

    def show(self, now: float) -> None:
        moment = time.monotonic()
        if not self.shown or (moment - self.drawn < 0.2 and now < self.end):
            return
        self.drawn = moment
        if self.display is not None:
            self.display.update(self.text(now))
        else:
            sys.stderr.write("\r\033[K" + self.text(now))
            sys.stderr.flush()
