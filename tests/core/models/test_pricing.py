import pytest

from rollgrid.models.base import ModelReply, Usage
from rollgrid.models.openai import OpenAIChat, OpenAIResponses
from rollgrid.models.pricing import GivenPrice, KnownPrices, is_priced, may_be_priced
from rollgrid.models.simulated import SimulatedModel

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


@pytest.fixture(scope="module")
def prices():
    known = KnownPrices()
    known.load()
    assert known.fault is None
    return known


@pytest.fixture(autouse=True)
def _no_other_address(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def cost(prices, model, usage=MILLION, name=None):
    return prices.cost(model, ModelReply(usage=usage, model=name))


def test_a_model_of_the_list_has_its_price(prices):
    assert cost(prices, OpenAIResponses("gpt-4o-mini")) == pytest.approx(0.15 + 0.60)


def test_cached_tokens_cost_what_cached_tokens_do(prices):
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=400_000)
    assert cost(prices, OpenAIResponses("gpt-4o-mini"), usage) == pytest.approx(0.6 * 0.15 + 0.4 * 0.075)


def test_the_name_that_the_reply_gives_is_the_one_that_was_billed(prices):
    asked = OpenAIResponses("gpt-4o")
    assert cost(prices, asked, name="gpt-4o-mini") == pytest.approx(0.75)
    assert cost(prices, asked, name="a-name-nobody-knows") == cost(prices, asked)


@pytest.mark.parametrize(
    "model",
    [
        OpenAIResponses("a-name-nobody-knows"),
        OpenAIResponses("gpt-4o-mini", base_url="https://proxy.example/v1"),
        OpenAIChat("gpt-4o-mini", base_url="http://127.0.0.1:8000/v1"),
        OpenAIResponses("gpt-4o-mini", service_tier="a-tier-nobody-knows"),
        OpenAIResponses("ft:gpt-4o-mini:somebody::1"),
    ],
)
def test_what_is_not_known_for_certain_has_no_cost(prices, model):
    assert cost(prices, model) is None
    assert not is_priced(prices, model)


def test_a_tier_with_a_price_of_its_own_has_that(prices):
    usual, flex = OpenAIResponses("gpt-5-mini"), OpenAIResponses("gpt-5-mini", service_tier="flex")
    assert 0 < cost(prices, flex) < cost(prices, usual)


def test_what_runs_here_has_no_price(prices):
    assert cost(prices, SimulatedModel()) is None
    assert not may_be_priced(SimulatedModel())
    assert not may_be_priced(OpenAIChat("m", base_url="http://localhost:1/v1"))
    assert may_be_priced(OpenAIChat("m"))


def test_before_the_list_is_there_nothing_has_a_price():
    assert cost(KnownPrices(), OpenAIResponses("gpt-4o-mini")) is None


async def test_the_list_is_there_when_it_is_ready():
    known = KnownPrices()
    await known.ready()
    assert is_priced(known, OpenAIResponses("gpt-4o-mini"))


@pytest.mark.parametrize(
    ("text", "usage", "dollars"),
    [
        ("1/2", Usage(1_000_000, 1_000_000), 3.0),
        ("1/2/0.5", Usage(1_000_000, 0, cached_tokens=500_000), 0.75),
        ("1/2", Usage(1_000_000, 0, cached_tokens=500_000), 1.0),
    ],
)
def test_a_price_that_was_given(text, usage, dollars):
    assert cost(GivenPrice.parse(text), OpenAIChat("any"), usage) == pytest.approx(dollars)


@pytest.mark.parametrize("text", ["1", "1/2/3/4", "a/b", "-1/2", "nan/1", ""])
def test_what_is_no_price(text):
    with pytest.raises(ValueError):  # noqa: PT011 - float's own message for some of these
        GivenPrice.parse(text)
