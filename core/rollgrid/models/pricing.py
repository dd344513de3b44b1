"""What a model call cost, from the price list of the genai-prices package or from a price that the user gives.

A price that is not known for certain is no price: an address that no provider is known to have (a server of one's own,
a proxy), a model that its provider's list does not hold, a service tier without a price of its own.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from rollgrid.models.base import Model, ModelReply, Usage
from rollgrid.threads import in_thread

_USUAL_TIERS = (None, "auto", "default")
_MILLION = 1_000_000


class PriceList(Protocol):
    def cost(self, model: Model, reply: ModelReply) -> float | None:
        """US dollars for this reply of this model, None when no price is known. Only after `ready`."""
        ...

    async def ready(self) -> None:
        """Get the prices, where that takes time."""
        ...


@dataclass(frozen=True, slots=True)
class GivenPrice:
    """US dollars per million tokens. `cached` are input tokens that the provider had in its cache."""

    input: float
    output: float
    cached: float | None = None

    @classmethod
    def parse(cls, text: str) -> "GivenPrice":
        """`IN/OUT` or `IN/OUT/CACHED`. Raises `ValueError`."""
        parts = [float(part) for part in text.split("/")]
        if len(parts) not in (2, 3) or not all(0 <= part < float("inf") for part in parts):
            raise ValueError(f"{text!r} is no IN/OUT or IN/OUT/CACHED in US dollars per million tokens")
        return cls(*parts)

    def cost(self, model: Model, reply: ModelReply) -> float | None:
        usage = reply.usage
        cached = min(usage.cached_tokens, usage.input_tokens)
        price_of_cached = self.input if self.cached is None else self.cached
        spent = (
            (usage.input_tokens - cached) * self.input + cached * price_of_cached + usage.output_tokens * self.output
        )
        return spent / _MILLION

    async def ready(self) -> None:
        """It is there."""


class KnownPrices:
    """The prices of genai-prices, as of the installed version; nothing is fetched."""

    def __init__(self) -> None:
        self._calculate: Callable[..., Any] | None = None
        self._usage: Callable[..., Any] | None = None
        self._unknown: set[tuple[str, str]] = set()
        self._is_loaded = False
        self.fault: str | None = None
        """Why there are no prices at all, in words."""
        self._lock = threading.Lock()

    async def ready(self) -> None:
        """Import the list if it is not there yet: up to a second of work, done off the event loop."""
        if not self._is_loaded:
            await in_thread("the price list", self.load)

    def load(self) -> None:
        with self._lock:
            if self._is_loaded:
                return
            try:
                import genai_prices

                self._usage = genai_prices.Usage
                # The data is read at the first question.
                genai_prices.calc_price(genai_prices.Usage(input_tokens=1), model_ref="gpt-4o", provider_id="openai")
                self._calculate = genai_prices.calc_price
            except Exception as error:  # noqa: BLE001 - a run goes on without prices
                self.fault = f"{type(error).__name__}: {error}"
            self._is_loaded = True

    def cost(self, model: Model, reply: ModelReply) -> float | None:
        """By the name that the reply gives of its model, which is exact; else by the name that was asked for."""
        if model.kind != "real":
            return None
        tier = getattr(model, "service_tier", None)
        for name in (reply.model, model.id):
            found = None if name is None else self._price(name, model.endpoint, reply.usage, tier)
            if found is not None:
                return found
        return None

    def _price(self, name: str, endpoint: str, usage: Usage, tier: str | None) -> float | None:
        usual = self._ask(name, endpoint, usage, None)
        if usual is None or tier in _USUAL_TIERS:
            return usual
        special = self._ask(name, endpoint, usage, tier)
        # The list gives the usual price where it holds none for the tier.
        return special if special != usual else None

    def _ask(self, name: str, endpoint: str, usage: Usage, tier: str | None) -> float | None:
        if self._calculate is None or self._usage is None or (name, endpoint) in self._unknown:
            return None
        counted = self._usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        )
        context = None if tier is None else {"service_tier": tier}
        try:
            price = self._calculate(counted, model_ref=name, provider_api_url=endpoint, price_context=context)
        except LookupError:
            self._unknown.add((name, endpoint))
            return None
        return float(price.total_price)


def may_be_priced(model: Model) -> bool:
    """Whether it is worth looking: what runs on this machine has no price."""
    return model.kind == "real" and urlsplit(model.endpoint).hostname not in ("localhost", "127.0.0.1", "::1")


def is_priced(prices: PriceList, model: Model) -> bool:
    """Whether a reply of this model, by the name that is asked for, will have a cost."""
    return prices.cost(model, ModelReply(usage=Usage(1_000, 1_000))) is not None
