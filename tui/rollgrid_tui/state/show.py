"""Figures as the few characters that a column has room for."""


def rate(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.0f}%"


def seconds(value: float | None) -> str:
    """`40ms`, `0.4s`, `12s`, `3m05`, `2h10`."""
    if value is None:
        return "-"
    if value < 0.0995:
        return f"{value * 1000:.0f}ms"
    if value < 9.95:
        return f"{value:.1f}s"
    if value < 99.5:
        return f"{value:.0f}s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 100:
        return f"{minutes}m{rest:02d}"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}"


def clock(value: float) -> str:
    """A span as `0:07`, `12:30`, `1:02:03`."""
    minutes, rest = divmod(max(0, int(value)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def count(value: int) -> str:
    """`999`, `12.3k`, `4.5M`."""
    if value < 1000:
        return str(value)
    if value < 999_950:
        return f"{value / 1000:.1f}k" if value < 99_950 else f"{value / 1000:.0f}k"
    return f"{value / 1_000_000:.1f}M"


def size(value: int) -> str:
    """Bytes or characters by the thousand: `812 B`, `10.5 MB`."""
    if value < 1000:
        return f"{value} B"
    if value < 1_000_000:
        return f"{value / 1000:.1f} kB"
    return f"{value / 1_000_000:.1f} MB"


def cost(value: float | None) -> str:
    """US dollars, two digits that mean something: `$0.0012`, `$0.34`, `$12.50`."""
    if value is None:
        return "-"
    if value == 0:
        return "$0"
    if value < 0.1:
        return f"${value:.4f}"
    return f"${value:.2f}" if value < 1000 else f"${value:,.0f}"


def per_second(value: float | None) -> str:
    """Throughput; a minute is the unit where less than one a second gets done."""
    if value is None:
        return "-"
    if value >= 1:
        return f"{value:.0f}/s" if value >= 9.95 else f"{value:.1f}/s"
    return f"{value * 60:.0f}/min" if value * 60 >= 9.95 else f"{value * 60:.1f}/min"
