"""An open page with everything that it did and a report must not do; and the widths that it is looked at in."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import Page

__all__ = ["DESK", "PHONE", "Watched"]

PHONE, DESK = 360, 1280


@dataclass
class Watched:
    """A page that is open, and what it did that a report must not do."""

    page: Page
    requests: list[str] = field(default_factory=list)
    """Everything asked for but the page itself."""
    said: list[str] = field(default_factory=list)
    """On the console: errors of scripts, refusals of the page's own policy."""
    dialogs: list[str] = field(default_factory=list)

    @property
    def misdeeds(self) -> list[str]:
        return [*self.requests, *self.said, *self.dialogs]

    def until_said(self, words: str) -> None:
        """Wait for a text on the console: it may come after the answer to what was asked later."""
        if not any(words in said for said in self.said):
            self.page.wait_for_event("console", lambda message: words in message.text)

    def width(self) -> int:
        """Of what there is to scroll through."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth")
        return width
