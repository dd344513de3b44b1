"""The language in which the server is told how to behave."""

import math

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollgrid.errors import RollgridError
from rollgrid.testing import SimulatedServer, Spec, SpecError, describe, parse_spec
from rollgrid.testing.spec import spec_of_request


def test_pairs_may_be_parted_in_any_of_the_usual_ways():
    wanted = Spec(lat=50, p=0.5, e429=0.1)
    for text in ("lat=50,p=0.5,e429=0.1", "lat=50+p=0.5+e429=0.1", "lat=50&p=0.5;e429=0.1", " lat=50  p=0.5/e429=0.1 "):
        assert parse_spec(text) == wanted


def test_an_empty_spec_changes_nothing():
    assert parse_spec("") == Spec()
    assert parse_spec("", Spec(lat=9)) == Spec(lat=9)


def test_a_window_of_outage_may_be_open_to_either_side():
    assert parse_spec("outage=2:5").outage == (2, 5)
    assert parse_spec("outage=:5").outage == (0, 5)
    assert parse_spec("outage=2:").outage == (2, math.inf)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("lta=50", "lta"),
        ("lat=fast", "lat"),
        ("lat=-1", "lat"),
        ("lat=nan", "lat"),
        ("lat=inf", "lat"),
        ("p=1.5", "p"),
        ("e500=2", "e500"),
        ("chunks=1.5", "chunks"),
        ("text=yes", "text"),
        ("ra=soon", "ra"),
        ("ra=date:x", "ra"),
        ("outage=5", "outage"),
        ("outage=5:2", "outage"),
        ("seed=", "seed"),
        ("lat", "lat"),
    ],
)
def test_a_pair_that_cannot_be_read_is_refused_by_name(text: str, word: str):
    with pytest.raises(SpecError, match=word) as caught:
        parse_spec(f"p=1,{text}")
    assert caught.value.hint
    assert "\n" not in caught.value.message
    with pytest.raises(RollgridError):
        SimulatedServer(text)


@given(st.text(max_size=40))
def test_any_text_is_a_spec_or_a_spec_error(text: str):
    try:
        assert isinstance(parse_spec(text), Spec)
    except SpecError as error:
        assert error.message  # noqa: PT017 - both outcomes are allowed


def test_later_places_win_over_earlier_ones():
    base = Spec(lat=1, jitter=1, slow=1, pad=1)
    spec = spec_of_request(base, "/jitter=2,slow=2,pad=2", "slow=3&pad=3", "model+pad=4")
    assert (spec.lat, spec.jitter, spec.slow, spec.pad) == (1, 2, 3, 4)


def test_what_belongs_to_others_is_passed_over():
    assert spec_of_request(Spec(), "/openai/deployments/x", "api-version=2025-01-01&foo=bar", "a+b:c") == Spec()
    assert spec_of_request(Spec(), "/openai/p=1", "", "big+model+lat=3") == Spec(p=1, lat=3)
    assert spec_of_request(Spec(), "/p%3D1%2Clat%3D2", "", "m") == Spec(p=1, lat=2)


def test_every_key_is_explained():
    rows = describe()
    assert {key for key, _, _ in rows} >= {"lat", "e429", "ra", "outage", "rpm", "slow", "cutstream"}
    assert all(meaning for _, _, meaning in rows)


async def test_a_misspelt_key_in_a_request_is_an_error_that_names_it(connect, server: SimulatedServer):
    with pytest.raises(openai.BadRequestError, match="e492"):
        await connect("e492=1").responses.create(model="m", input="x")
    with pytest.raises(openai.BadRequestError, match="e492"):
        await connect().responses.create(model="m+e492=1", input="x")
    with pytest.raises(openai.BadRequestError, match="e492"):
        await connect("e492=1").models.list()
    assert server.stats()["kinds"] == {"bad request": 2}


async def test_the_path_the_query_and_the_model_name_reach_the_server(connect):
    client = connect("p=1,text=1")
    assert (await client.responses.create(model="m", input="ANS=1")).output_text == "The answer is 1."
    wrong = await client.responses.create(model="m", input="ANS=1", extra_query={"p": "0"})
    assert wrong.output_text == "The answer is 2."
    right = await client.responses.create(model="m+p=1", input="ANS=1", extra_query={"p": "0"})
    assert right.output_text == "The answer is 1."


async def test_specs_on_one_server_do_not_disturb_each_other(connect):
    async def first_values(spec: str, noise: bool) -> list[str]:
        client, other = connect(spec), connect("p=0.5,seed=99")
        out = []
        for _ in range(10):
            out.append((await client.responses.create(model="m", input="ANS=5")).output_text)
            if noise:
                await other.responses.create(model="m", input="ANS=5")
        return out

    assert await first_values("p=0.5,seed=7,lat=0", noise=False) == await first_values("p=0.5,seed=7,lat=1", noise=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_a_host_that_others_can_reach_needs_to_be_allowed(host: str):
    with pytest.raises(RollgridError, match="loopback"):
        SimulatedServer(host=host)
    assert SimulatedServer(host=host, allow_remote=True).host == host


async def test_a_taken_port_is_one_line(server: SimulatedServer):
    with pytest.raises(RollgridError, match=str(server.port)):
        await SimulatedServer(port=server.port).start()
