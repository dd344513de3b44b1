"""Colours: one accent, and a set for outcomes that colour-blind eyes tell apart (after Okabe and Ito, 2008).

Every outcome has a glyph of its own besides; colour is never the only carrier. The third theme uses the terminal's own
sixteen colours, for terminals that have no more and for `NO_COLOR`, where textual takes the colours out altogether.
"""

from collections.abc import Mapping

from textual.theme import Theme

_DARK = {
    "muted": "#8b949e",
    "faint": "#545d68",
    "cell-pending": "#545d68",
    "cell-running": "#6cb6ff",
    "cell-retrying": "#d9b44a",
    "cell-pass": "#45b8a0",
    "cell-fail": "#f0875a",
    "cell-partial": "#d9b44a",
    "cell-error": "#d68ac4",
    "cell-timeout": "#d68ac4",
    "cell-cancelled": "#8b949e",
    "cell-superseded": "#6b7480",
    "cursor-row": "#1d242d",
    "cursor-cell": "#273d56",
    "good": "#45b8a0",
    "bad": "#f0875a",
    "warn": "#d9b44a",
    "banner": "#3d3213",
    "storm": "#4a2416",
}

_LIGHT = {
    "muted": "#57606a",
    "faint": "#8c959f",
    "cell-pending": "#8c959f",
    "cell-running": "#0860c2",
    "cell-retrying": "#7a5900",
    "cell-pass": "#006e54",
    "cell-fail": "#b03a09",
    "cell-partial": "#7a5900",
    "cell-error": "#95297a",
    "cell-timeout": "#95297a",
    "cell-cancelled": "#57606a",
    "cell-superseded": "#6e7781",
    "cursor-row": "#ecebe6",
    "cursor-cell": "#bcd6f2",
    "good": "#006e54",
    "bad": "#b03a09",
    "warn": "#7a5900",
    "banner": "#f7ebc3",
    "storm": "#f9dccd",
}

_ANSI = {
    "muted": "ansi_default",
    "faint": "ansi_default",
    "cell-pending": "ansi_default",
    "cell-running": "ansi_bright_blue",
    "cell-retrying": "ansi_yellow",
    "cell-pass": "ansi_cyan",
    "cell-fail": "ansi_bright_red",
    "cell-partial": "ansi_yellow",
    "cell-error": "ansi_magenta",
    "cell-timeout": "ansi_magenta",
    "cell-cancelled": "ansi_default",
    "cell-superseded": "ansi_default",
    "cursor-row": "ansi_default",
    "cursor-cell": "ansi_default",
    "good": "ansi_cyan",
    "bad": "ansi_bright_red",
    "warn": "ansi_yellow",
    "banner": "ansi_default",
    "storm": "ansi_default",
}

DARK = Theme(
    name="rollgrid-dark",
    primary="#6cb6ff",
    secondary="#8b949e",
    accent="#6cb6ff",
    warning="#d9b44a",
    error="#f0875a",
    success="#45b8a0",
    foreground="#d1d7de",
    background="#12161b",
    surface="#181d24",
    panel="#1d242d",
    dark=True,
    variables={
        **_DARK,
        "scrollbar": "#333c47",
        "scrollbar-hover": "#444f5c",
        "scrollbar-active": "#6cb6ff",
        "scrollbar-background": "#12161b",
        "scrollbar-background-hover": "#12161b",
        "scrollbar-background-active": "#12161b",
        "scrollbar-corner-color": "#12161b",
    },
)

LIGHT = Theme(
    name="rollgrid-light",
    primary="#0860c2",
    secondary="#57606a",
    accent="#0860c2",
    warning="#7a5900",
    error="#b03a09",
    success="#006e54",
    foreground="#1f2328",
    background="#fbfaf7",
    surface="#f4f3ef",
    panel="#ecebe6",
    dark=False,
    variables={
        **_LIGHT,
        "scrollbar": "#c9cdd2",
        "scrollbar-hover": "#adb3ba",
        "scrollbar-active": "#0860c2",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-background-hover": "#fbfaf7",
        "scrollbar-background-active": "#fbfaf7",
        "scrollbar-corner-color": "#fbfaf7",
    },
)

TERMINAL = Theme(
    name="rollgrid-terminal",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_default",
    accent="ansi_bright_blue",
    warning="ansi_yellow",
    error="ansi_bright_red",
    success="ansi_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={**_ANSI, "ansi-background": "ansi_black", "ansi-foreground": "ansi_white"},
)

THEMES: Mapping[str, Theme] = {"dark": DARK, "light": LIGHT, "terminal": TERMINAL}
"""By the name that settings use."""

DEFAULTS = _DARK
"""What the style sheets fall back to under a theme that is not ours."""


def choose(wanted: str, environ: Mapping[str, str]) -> str:
    """The settings name of the theme: `auto` looks at what the terminal can do and says of itself."""
    if "NO_COLOR" in environ:
        return "terminal"
    if wanted != "auto":
        return wanted
    rich_colours = environ.get("COLORTERM", "") in {"truecolor", "24bit"} or "256" in environ.get("TERM", "")
    if not rich_colours and environ.get("TERM", "") in {"linux", "xterm", "screen", "vt100", "vt220", "ansi", "dumb"}:
        return "terminal"
    # rxvt and its relatives tell their background as the last field; 7 and 15 are white.
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in {"7", "15"} else "dark"
