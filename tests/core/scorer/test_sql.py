"""SQL is scored by what it returns, and no query can do anything but read."""

import asyncio
import sqlite3

import pytest
from pydantic import BaseModel

from rollgrid.agent.run import RunOutput
from rollgrid.scorer import CodeScorer, sql_process
from rollgrid.scorer.sql import SqlFixtureError, SqlLimits, SqlScorer, executes_to_expected_rows, sql_of
from rollgrid.scorer.sql_program import run_query

SETUP = "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');"
LIMITS = {"seconds": 0.3, "max_rows": 100, "max_bytes": 100_000, "memory_bytes": 256 << 20}
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "


class Query(BaseModel):
    sql: str


def answer(sql, **more):
    return RunOutput(content=Query(sql=sql), **more)


def expected(*rows, setup=SETUP):
    return {"setup": setup, "rows": [list(row) for row in rows]}


async def score(sql, *rows, **options):
    return await SqlScorer(**options).ascore(answer(sql), expected(*rows))


async def test_the_rows_count_and_not_the_wording():
    for sql in (
        "SELECT a, b FROM t ORDER BY a",
        "  select t.a, t.b from t order by 1;  ",
        "WITH u AS (SELECT * FROM t) SELECT a, b FROM u ORDER BY a",
        "-- all of it\n/* really */ SELECT a, b FROM t ORDER BY a",
    ):
        result = await score(sql, (1, "x"), (2, "y"))
        assert (result.value, result.passed) == (1.0, True), result.reason


async def test_wrong_rows_score_zero_and_are_shown():
    result = await score("SELECT a FROM t ORDER BY a", (1,), (3,))
    assert (result.value, result.passed) == (0.0, False)
    assert result.reason == "row 2 differs; returned rows: [[1], [2]]"
    assert (await score("SELECT a FROM t", (1,))).reason == "2 rows instead of 1; returned rows: [[1], [2]]"


async def test_order_counts_unless_it_is_said_not_to():
    sql = "SELECT a FROM t ORDER BY a DESC"
    assert not (await score(sql, (1,), (2,))).passed
    assert (await score(sql, (1,), (2,), ordered=False)).passed
    assert not (await score("SELECT 1 UNION ALL SELECT 1", (1,), (2,), ordered=False)).passed


async def test_numbers_are_equal_within_the_tolerance_and_no_further():
    assert not (await score("SELECT 0.1 + 0.2", (0.3,))).passed
    assert (await score("SELECT 0.1 + 0.2", (0.3,), float_tolerance=1e-9)).passed
    assert not (await score("SELECT 0.31", (0.3,), float_tolerance=1e-9)).passed
    assert (await score("SELECT 2.0 UNION ALL SELECT 1.01", (1,), (2,), ordered=False, float_tolerance=0.1)).passed
    assert not (await score("SELECT 'x'", (1,), float_tolerance=0.1)).passed


async def test_null_text_big_numbers_and_blobs_come_back_as_they_are():
    sql = "SELECT NULL, 'ü\u2028', 9223372036854775807, x'00ff', 1.5"
    assert (await score(sql, (None, "ü\u2028", 9223372036854775807, b"\x00\xff", 1.5))).passed


HOSTILE = {
    "writes": ("DELETE FROM t", "must start with SELECT or WITH"),
    "writes behind a WITH": ("WITH d AS (SELECT 1) DELETE FROM t", "tried DELETE"),
    "writes behind a comment": ("/* SELECT */ DROP TABLE t", "must start with SELECT or WITH"),
    "a second statement": ("SELECT 1; DROP TABLE t", "one statement"),
    "attaches": ("ATTACH '/tmp/never.db' AS x", "must start with SELECT or WITH"),
    "a pragma": ("PRAGMA writable_schema = 1", "must start with SELECT or WITH"),
    "a pragma as a table": ("SELECT * FROM pragma_journal_mode", "may only read"),
    "loads an extension": ("SELECT load_extension('/tmp/x.so')", "the function load_extension"),
    "a tokenizer's address": ("SELECT fts3_tokenizer('simple')", "the function fts3_tokenizer"),
    "writes a file": ("SELECT writefile('/tmp/x', 'y')", "no such function"),
    "no query": ("", "must start with SELECT or WITH"),
    "half a query": ("select", "incomplete"),
    "nonsense": ("SELECT FROM WHERE", "syntax error"),
    "an unknown table": ("SELECT * FROM secrets", "no such table"),
    "a NUL": ("SELECT '\x00'", "rejected"),
    "half a surrogate pair": ("SELECT '\ud800'", "rejected"),
    "broken UTF-8": ("SELECT CAST(x'ff' AS TEXT)", "rejected"),
    "a parameter": ("SELECT ?", "rejected"),
    "runs for ever": (ENDLESS + "SELECT count(*) FROM c", "of CPU time"),
    "a cross join for ever": ("SELECT count(*) FROM " + ", ".join(f"t a{i}" for i in range(40)), "of CPU time"),
    "rows without end": (ENDLESS + "SELECT x FROM c", "more than 100 rows"),
    "a wide result": (ENDLESS + "SELECT hex(zeroblob(20000)) FROM c", "more than 100000 bytes"),
    "a huge blob": ("SELECT zeroblob(2000000000)", "too big"),
    "huge random": ("SELECT randomblob(500000000)", "too big"),
    "huge by replacing": ("SELECT replace(hex(zeroblob(40000)), '0', hex(zeroblob(40000)))", "too big"),
    "a queue that doubles": (
        "WITH RECURSIVE c(x) AS (SELECT zeroblob(90000) UNION ALL SELECT zeroblob(90000) FROM c, t) "
        "SELECT sum(length(x)) FROM c",
        "",
    ),
    "deep nesting": ("SELECT " + "(" * 5000 + "1" + ")" * 5000, "rejected"),
    "a long sum": ("SELECT " + "+".join(["1"] * 5000), "rejected"),
    "many unions": ("SELECT 1" + " UNION ALL SELECT 1" * 1000, "rejected"),
    "a hard pattern": ("SELECT hex(zeroblob(40000)) LIKE '%" + "0_%" * 300 + "1'", "row 1 differs"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_query_scores_zero_with_a_reason(name):
    sql, why = HOSTILE[name]
    limits = SqlLimits(**LIMITS)
    result = await SqlScorer(limits=limits).ascore(answer(sql), expected(("never",)))
    assert (result.value, result.passed) == (0.0, False)
    assert result.reason
    assert why in (result.reason or "")
    assert "\n" not in (result.reason or "")


async def test_what_hangs_inside_one_sqlite_function_is_ended_by_the_system():
    sql = "SELECT instr(hex(zeroblob(499999)), hex(zeroblob(249999)) || '1')"
    result = await SqlScorer(limits=SqlLimits(seconds=0.1)).ascore(answer(sql), expected((1,)))
    assert not result.passed
    assert "of CPU time" in (result.reason or "")


async def test_a_process_that_dies_scores_zero_and_says_so(monkeypatch):
    monkeypatch.setattr(sql_process, "child_command", lambda: ["/bin/sh", "-c", "kill -SEGV $$"])
    result = await score("SELECT 1", (1,))
    assert not result.passed
    assert "signal 11" in (result.reason or "")


def test_the_guard_itself_denies_every_kind_of_write():
    """The process's limits aside: in this process, with nothing but the authorizer and the limits of SQLite."""
    for verb in ("INSERT INTO t VALUES (3, 'z')", "UPDATE t SET a = 0", "DELETE FROM t"):
        assert "may only read" in run_query(SETUP, f"WITH q AS (SELECT 1) {verb}", LIMITS)["problem"]
    assert run_query(SETUP, "SELECT a FROM t ORDER BY a", LIMITS) == {"rows": [[1], [2]]}


async def test_attempts_do_not_see_each_other():
    results = await asyncio.gather(*(score("SELECT count(*) FROM t", (2,)) for _ in range(4)))
    assert all(result.passed for result in results)


async def test_the_event_loop_goes_on_while_a_query_runs():
    ticks = 0
    limits = SqlLimits(seconds=0.5)
    work = asyncio.create_task(SqlScorer(limits=limits).ascore(answer(HOSTILE["runs for ever"][0]), expected()))
    while not work.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert "CPU time" in ((await work).reason or "")
    assert ticks > 10


async def test_a_cancelled_score_leaves_no_process_behind(monkeypatch):
    started = []
    ready = asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def remember(*args, **kwargs):
        process = await start(*args, **kwargs)
        started.append(process)
        ready.set()
        return process

    monkeypatch.setattr(sql_process.asyncio, "create_subprocess_exec", remember)
    limits = SqlLimits(seconds=60)
    work = asyncio.create_task(SqlScorer(limits=limits).ascore(answer(HOSTILE["runs for ever"][0]), expected()))
    await ready.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert started[0].returncode is not None


async def test_a_fixture_that_cannot_be_built_is_no_wrong_answer():
    with pytest.raises(SqlFixtureError, match="syntax error"):
        await SqlScorer().ascore(answer("SELECT 1"), expected((1,), setup="CREATE NONSENSE"))


@pytest.mark.parametrize("bad", [None, "SELECT 1", {"rows": []}, {"setup": "x"}, {"setup": 1, "rows": []}])
async def test_an_expected_value_of_another_shape_is_an_error_of_the_environment(bad):
    with pytest.raises(TypeError, match="expected must"):
        await SqlScorer().ascore(answer("SELECT 1"), bad)


async def test_an_answer_without_a_query_scores_zero_and_says_why():
    result = await SqlScorer().ascore(RunOutput(content=None, problem="truncated"), expected((1,)))
    assert (result.value, result.reason) == (0.0, "the answer holds no query: truncated")


def test_the_query_is_found_in_every_shape_an_answer_can_have():
    for content in (Query(sql="SELECT 1"), {"sql": "SELECT 1"}, '{"sql": "SELECT 1"}', "SELECT 1"):
        assert sql_of(RunOutput(content=content)) == "SELECT 1"
    assert sql_of(RunOutput(content={"query": "SELECT 1"})) is None
    assert sql_of(RunOutput(content=42)) is None


def test_the_digest_changes_with_every_option():
    variants = [
        SqlScorer(),
        SqlScorer(ordered=False),
        SqlScorer(float_tolerance=0.1),
        SqlScorer(limits=SqlLimits(seconds=1.0)),
        SqlScorer(limits=SqlLimits(max_rows=5)),
    ]
    assert len({scorer.digest() for scorer in variants}) == len(variants)
    assert SqlScorer().digest() == SqlScorer().digest()


async def test_it_works_as_a_code_scorer_too():
    scorer = CodeScorer(executes_to_expected_rows)
    result = await scorer.ascore(answer("SELECT a FROM t ORDER BY a"), expected((1,), (2,)))
    assert result.passed
    assert len(scorer.digest()) == 64


def test_senseless_options_are_refused():
    with pytest.raises(ValueError, match="float_tolerance"):
        SqlScorer(float_tolerance=-1)
    with pytest.raises(ValueError, match="limits"):
        SqlLimits(seconds=0)


def test_sqlite_here_has_the_limits_that_the_guard_sets():
    assert hasattr(sqlite3.Connection, "setlimit")
