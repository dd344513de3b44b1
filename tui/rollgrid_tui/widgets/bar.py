"""One line of the screen: something on the left, something on the right."""

from textual.content import Content
from textual.widget import Widget

EMPTY = Content("")


class Bar(Widget):
    """Draws again only when what it shows differs, so that an idle screen writes nothing.

    Where both do not fit, the right side keeps its place and the left is cut; `keep_left` turns that round.
    """

    DEFAULT_CSS = """
    Bar { height: 1; width: 1fr; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None, keep_left: bool = False) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self._left = EMPTY
        self._right = EMPTY
        self._keep_left = keep_left

    def show(self, left: Content, right: Content = EMPTY) -> None:
        # Equality of Content looks at its text alone, and a state may change its colour only.
        if (left.plain, left.spans, right.plain, right.spans) == (
            self._left.plain,
            self._left.spans,
            self._right.plain,
            self._right.spans,
        ):
            return
        self._left, self._right = left, right
        self.refresh()

    @property
    def plain(self) -> str:
        """What it shows, without the space between."""
        return f"{self._left.plain}  {self._right.plain}".strip()

    def render(self) -> Content:
        width = self.content_size.width
        left, right = self._left, self._right
        if self._keep_left:
            room = width - left.cell_length - 2
            if right.cell_length > room:
                right = right.truncate(room) if room > 0 else EMPTY
        elif right.cell_length:
            left = left.truncate(max(0, width - right.cell_length - 2))
        space = width - left.cell_length - right.cell_length
        return Content.assemble(left, " " * max(0, space), right)
