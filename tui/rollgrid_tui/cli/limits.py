"""Options that bound a run: how many attempts at once, what it may spend."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rollgrid.config import Config
    from rollgrid.runner.budget import Limits

F = TypeVar("F", bound=Callable[..., Any])

AUTO = "auto"

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?", re.IGNORECASE)
_SECONDS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class ConcurrencyType(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic in newer releases only
    """A number of at least 1, or `auto`."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == AUTO or (isinstance(value, int) and value >= 1):
            return value
        text = str(value).strip()
        if text.lower() == AUTO:
            return AUTO
        if not text.isdecimal() or int(text) < 1:
            self.fail(f"{value!r} is neither a number of at least 1 nor `auto`", param, ctx)
        return int(text)


class SpanType(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic in newer releases only
    """Seconds, or a number with a unit: 90s, 30m, 2h."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = parse_span(str(value))
        if not seconds:
            self.fail(f"{value!r} is no time such as 90s, 30m or 2h", param, ctx)
        return seconds


class PriceType(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic in newer releases only
    """`IN/OUT` or `IN/OUT/CACHED`, kept as text."""

    name = "IN/OUT[/CACHED]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from rollgrid.models.pricing import GivenPrice

        try:
            GivenPrice.parse(str(value))
        except ValueError:
            self.fail(f"{value!r} is no price such as 0.15/0.60 (US dollars per million tokens)", param, ctx)
        return str(value)


def parse_span(text: str) -> float | None:
    """Seconds out of 90, 90s, 30m, 2h or 1d; None for anything else."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return None
    unit = match[2].lower() if match[2] else None
    return float(match[1]) * _SECONDS[unit]


concurrency_option = click.option(
    "-c",
    "--concurrency",
    type=ConcurrencyType(),
    envvar="ROLLGRID_CONCURRENCY",
    help="Attempts at once; `auto`: as many as the endpoint bears. Default 4.",
)


def limit_options(function: F) -> F:
    """`--max-cost`, `--max-tokens`, `--max-time` and `--price`."""
    for option in (
        click.option("--price", type=PriceType(), help="US dollars per million tokens, for models of unknown price."),
        click.option(
            "--max-time", type=SpanType(), envvar="ROLLGRID_MAX_TIME", help="Start nothing more after 90s, 30m, 2h."
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(min=1),
            envvar="ROLLGRID_MAX_TOKENS",
            help="Start nothing that would take the run over so many tokens.",
        ),
        click.option(
            "--max-cost",
            type=click.FloatRange(min=0, min_open=True),
            envvar="ROLLGRID_MAX_COST",
            help="Start nothing that would take the run over so many US dollars.",
        ),
    ):
        function = option(function)
    return function


def limits_of(
    max_cost: float | None, max_tokens: int | None, max_time: float | None, config: "Config | None" = None
) -> "Limits":
    """The limits as the runner takes them; what is not given comes from the configuration."""
    from rollgrid.runner.budget import Limits

    given = Limits(max_cost, max_tokens, max_time)
    if config is None:
        return given
    return given.over(Limits(config.max_cost, config.max_tokens, config.max_time))
