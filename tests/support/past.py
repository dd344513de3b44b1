"""Histories made by hand."""

from rollgrid.analysis.comparison import Count
from rollgrid.analysis.history import History, PastRun, history

DAY = 86_400.0
START = 1_700_000_000.0


def past_run(place: int, counts: dict[str, tuple[int, int]], **fields: object) -> PastRun:
    given: dict[str, object] = {
        "run_id": f"run{place:02d}",
        "at": START + DAY * place,
        "model": "gpt-5.4-mini",
        "simulated": False,
        "env_fingerprint": "rgenv1:a",
        "policy_fingerprint": "p",
        "counts": {name: Count(*count) for name, count in counts.items()},
        "fingerprint_parts": {"tasks": "t", "scorer": str(fields.get("env_fingerprint", "rgenv1:a"))},
    }
    return PastRun(**(given | fields))  # pyright: ignore[reportArgumentType]


def drift(env_name: str = "arithmetic", **fields: object) -> History:
    """Twelve runs: another environment until the second, a drop at the seventh, another policy at the tenth."""
    runs = [
        past_run(
            place,
            {
                "sum-two-digits": (8 if place < 6 else 2, 8),
                "capital-of-france": (8, 8),
                "日本語の要約": (5 + place % 3, 8),
                "sql-group-by": (0 if place < 9 else 6, 8),
            },
            **(
                {
                    "env_fingerprint": "rgenv1:old" if place < 2 else "rgenv1:new",
                    "policy_fingerprint": "p" if place < 9 else "q",
                    "model": "gpt-5.4-mini" if place < 9 else "gpt-5.4",
                }
                | fields
            ),
        )
        for place in range(12)
    ]
    return history(env_name, runs)
