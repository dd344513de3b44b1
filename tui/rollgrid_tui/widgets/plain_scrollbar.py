"""A scroll bar of background colour alone: textual's own ends it with block characters of ambiguous width."""

from typing import ClassVar

from textual.scrollbar import ScrollBar, ScrollBarRender


class PlainScrollBarRender(ScrollBarRender):
    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


def use_plain_scroll_bars() -> None:
    ScrollBar.renderer = PlainScrollBarRender
