"""Text cut or padded to a number of screen columns. Everything that comes here is clean already."""

from rich.cells import cell_len, set_cell_size

CUT = "..."


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` columns, left-aligned; `...` where something was left out."""
    length = cell_len(text)
    if length <= width:
        return text + " " * (width - length)
    if width <= len(CUT) + 1:
        return set_cell_size(text, width)
    return set_cell_size(text, width - len(CUT)) + CUT


def fit_middle(text: str, width: int) -> str:
    """Like `fit`, but cut in the middle: names that begin alike differ at their end."""
    length = cell_len(text)
    if length <= width or width < 8:
        return fit(text, width)
    tail = (width - 2) // 2
    end = len(text)
    while end and cell_len(text[end - 1 :]) <= tail:
        end -= 1
    head = set_cell_size(text, width - 2 - cell_len(text[end:]))
    return f"{head}..{text[end:]}"


def fit_right(text: str, width: int) -> str:
    """`text` in exactly `width` columns, right-aligned."""
    length = cell_len(text)
    return " " * (width - length) + text if length <= width else fit(text, width)


def measure(character: str) -> int:
    """Columns of one character."""
    return cell_len(character)
