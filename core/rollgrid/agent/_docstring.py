"""What a docstring says of a function and its parameters: Google, NumPy and reST style."""

import re
from dataclasses import dataclass

_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Params|Returns?|Raises|Yields?|Examples?|Notes?|Attributes|Warnings?|See Also):?\s*$"
)
_PARAMETER_SECTIONS = {"Args", "Arguments", "Parameters", "Params"}
_REST = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*?\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_REST_FIELD = re.compile(r"^:\w+[^:]*:")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")


@dataclass(frozen=True, slots=True)
class Docstring:
    """`summary` is the text before the first section; `parameters` maps names to their descriptions."""

    summary: str
    parameters: dict[str, str]


def parse_docstring(text: str) -> Docstring:
    """Read a docstring whose common indentation is already gone."""
    summary: list[str] = []
    parameters: dict[str, list[str]] = {}
    current: str | None = None
    section: str | None = None
    underlined = False
    lines = text.splitlines()
    for number, line in enumerate(lines):
        stripped = line.strip()
        below = lines[number + 1].strip() if number + 1 < len(lines) else ""
        is_underline = bool(stripped) and not stripped.strip("-")
        if is_underline and underlined:
            continue
        heading = _SECTION.match(line)
        if heading and (line.rstrip().endswith(":") or (below and not below.strip("-"))):
            section, current = heading.group(1), None
            underlined = not line.rstrip().endswith(":")
            continue
        rest = _REST.match(stripped)
        if rest:
            section, current = ":", str(rest.group(1))
            parameters[current] = [rest.group(2)]
        elif _REST_FIELD.match(stripped):
            section, current = ":", None
        elif section is None:
            summary.append(stripped)
        elif section == ":":
            if current is not None and stripped:
                parameters[current].append(stripped)
        elif section in _PARAMETER_SECTIONS:
            current = _parameter_line(line, stripped, underlined, current, parameters)
    return Docstring(
        summary="\n".join(summary).strip(),
        parameters={name: " ".join(part for part in parts if part) for name, parts in parameters.items()},
    )


def _parameter_line(
    line: str, stripped: str, underlined: bool, current: str | None, parameters: dict[str, list[str]]
) -> str | None:
    """Take one line of a parameter section; return the parameter that the next lines continue."""
    if not stripped:
        return current
    indented = len(line) - len(line.lstrip())
    if underlined:
        named = _NUMPY.match(stripped) if indented == 0 else None
        first = ""
    else:
        # A continuation is indented deeper than the first parameter was.
        named = _GOOGLE.match(stripped) if indented <= 4 else None
        first = named.group(2) if named else ""
    if named:
        parameters[named.group(1)] = [first]
        return named.group(1)
    if current is not None:
        parameters[current].append(stripped)
    return current
