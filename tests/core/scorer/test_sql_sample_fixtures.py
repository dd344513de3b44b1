"""The SQL tasks for strong models: their expected rows follow from the rules, and a query can reach them."""

import importlib.util
import sqlite3
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rollgrid.agent.run import RunOutput
from rollgrid.scorer.sql import executes_to_expected_rows

FOLDER = Path(__file__).parents[3] / "sample_envs" / "sql_generation"


def load(name):
    spec = importlib.util.spec_from_file_location(f"sample_sql_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def task_of(name, task_id):
    return next(task for task in load(name).env.tasks if task.id == task_id)


def table(setup, query):
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(setup)
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def replay(setup):
    """The ledger's rules in plain Python: for each sku the course of its stock and the counts."""
    events = table(
        setup,
        "SELECT sku, event_id, event_type, qty, reserve_event_id FROM inventory_events ORDER BY changed_at, event_id",
    )
    stock, held, counts, course = defaultdict(int), defaultdict(dict), defaultdict(lambda: [0, 0, 0, 0]), []
    for sku, event_id, kind, qty, target in events:
        before = stock[sku]
        if kind == "receive":
            stock[sku] += qty
        elif kind == "reserve":
            accepted = before >= qty
            counts[sku][0 if accepted else 1] += 1
            if accepted:
                stock[sku] -= qty
                held[sku][event_id] = qty
        else:
            valid = target in held[sku]
            counts[sku][2 if valid else 3] += 1
            if valid:
                stock[sku] += held[sku].pop(target)
        course.append((sku, event_id, before, stock[sku]))
    return stock, counts, course


def audit(setup):
    stock, counts, _ = replay(setup)
    return [[sku, stock[sku], *counts[sku]] for sku in sorted(stock)]


def crossings(setup):
    _, _, course = replay(setup)
    rows = [[sku, event, after - before, after] for sku, event, before, after in course if before < 5 <= after]
    return sorted(rows, key=lambda row: row[0])


def service_levels(setup):
    """Business minutes counted one by one."""
    holidays = {day for (day,) in table(setup, "SELECT day FROM holidays")}
    found = defaultdict(list)
    tickets = table(
        setup,
        "SELECT name, sla_minutes, ticket_id, opened_at FROM tickets JOIN organizations USING (organization_id) "
        "JOIN sla_policies USING (organization_id)",
    )
    responses = table(setup, "SELECT ticket_id, created_at FROM responses WHERE actor_type = 'agent'")
    for name, limit, ticket, opened in tickets:
        answers = sorted(at for of, at in responses if of == ticket and at >= opened)
        minutes = 0
        moment = datetime.fromisoformat(opened)
        while answers and moment < datetime.fromisoformat(answers[0]):
            working = moment.weekday() < 5 and moment.date().isoformat() not in holidays
            minutes += working and 9 <= moment.hour < 17
            moment += timedelta(minutes=1)
        found[name].append(bool(answers) and minutes <= limit)
    rows = [[name, len(kept), sum(kept), round(sum(kept) / len(kept), 3)] for name, kept in found.items()]
    return sorted((row for row in rows if row[1] >= 2), key=lambda row: (-row[3], row[0]))


STATE_MACHINE = """
WITH RECURSIVE numbered AS (
  SELECT *, row_number() OVER (PARTITION BY sku ORDER BY changed_at, event_id) AS n FROM inventory_events
),
steps(sku, n, event_id, before, stock, held, accepted, rejected, valid, invalid) AS (
  SELECT DISTINCT sku, 0, 0, 0, 0, '{}', 0, 0, 0, 0 FROM inventory_events
  UNION ALL
  SELECT e.sku, e.n, e.event_id, s.stock,
    CASE
      WHEN e.event_type = 'receive' THEN s.stock + e.qty
      WHEN e.event_type = 'reserve' AND s.stock >= e.qty THEN s.stock - e.qty
      WHEN e.event_type = 'release' THEN s.stock + coalesce(json_extract(s.held, '$."' || e.reserve_event_id || '"'), 0)
      ELSE s.stock
    END,
    CASE
      WHEN e.event_type = 'reserve' AND s.stock >= e.qty THEN json_set(s.held, '$."' || e.event_id || '"', e.qty)
      WHEN e.event_type = 'release' THEN json_remove(s.held, '$."' || e.reserve_event_id || '"')
      ELSE s.held
    END,
    s.accepted + (e.event_type = 'reserve' AND s.stock >= e.qty),
    s.rejected + (e.event_type = 'reserve' AND s.stock < e.qty),
    s.valid + (e.event_type = 'release' AND json_extract(s.held, '$."' || e.reserve_event_id || '"') IS NOT NULL),
    s.invalid + (e.event_type = 'release' AND json_extract(s.held, '$."' || e.reserve_event_id || '"') IS NULL)
  FROM steps s JOIN numbered e ON e.sku = s.sku AND e.n = s.n + 1
)
"""

AUDIT_SQL = f"""{STATE_MACHINE}
SELECT sku, stock, accepted, rejected, valid, invalid FROM steps s
WHERE n = (SELECT max(n) FROM steps t WHERE t.sku = s.sku) ORDER BY sku
"""

CROSSING_SQL = f"""{STATE_MACHINE},
course AS (SELECT sku, n, event_id, stock, lag(stock) OVER (PARTITION BY sku ORDER BY n) AS previous FROM steps)
SELECT sku, event_id, stock - previous, stock FROM course WHERE n > 0 AND stock >= 5 AND previous < 5 ORDER BY sku, n
"""

SLA_SQL = """
WITH RECURSIVE first AS (
  SELECT t.ticket_id, t.organization_id, t.opened_at,
    (SELECT min(r.created_at) FROM responses r
     WHERE r.ticket_id = t.ticket_id AND r.actor_type = 'agent' AND r.created_at >= t.opened_at) AS answered_at
  FROM tickets t
),
minutes(ticket_id, m, answered_at) AS (
  SELECT ticket_id, opened_at, answered_at FROM first WHERE opened_at < answered_at
  UNION ALL
  SELECT ticket_id, datetime(m, '+1 minute'), answered_at FROM minutes WHERE datetime(m, '+1 minute') < answered_at
),
spent AS (
  SELECT ticket_id, sum(
    strftime('%w', m) BETWEEN '1' AND '5' AND date(m) NOT IN (SELECT day FROM holidays)
    AND time(m) >= '09:00:00' AND time(m) < '17:00:00') AS business
  FROM minutes GROUP BY ticket_id
),
kept AS (
  SELECT f.organization_id, f.answered_at IS NOT NULL AND coalesce(s.business, 0) <= p.sla_minutes AS within
  FROM first f JOIN sla_policies p USING (organization_id) LEFT JOIN spent s USING (ticket_id)
)
SELECT o.name, count(*), sum(within), round(1.0 * sum(within) / count(*), 3) AS rate
FROM kept JOIN organizations o USING (organization_id)
GROUP BY o.organization_id HAVING count(*) >= 2 ORDER BY rate DESC, o.name
"""

CASES = [
    ("basic", "inventory-state", audit, AUDIT_SQL),
    ("joins", "business-minute-sla", service_levels, SLA_SQL),
    ("window_functions", "stateful-threshold-crossing", crossings, CROSSING_SQL),
    ("window_functions", "final-state-audit", audit, AUDIT_SQL),
]

ROWS = {
    "inventory-state": [["A", 4, 2, 1, 1, 2], ["B", 1, 2, 1, 1, 1]],
    "business-minute-sla": [["Atlas", 3, 2, 0.667], ["Boreal", 2, 1, 0.5]],
    "stateful-threshold-crossing": [
        ["A", 1, 10, 10],
        ["A", 4, 7, 10],
        ["A", 9, 2, 6],
        ["B", 10, 5, 5],
        ["B", 13, 3, 5],
        ["B", 16, 5, 6],
    ],
    "final-state-audit": [["A", 6, 2, 1, 1, 2], ["B", 6, 2, 1, 1, 1]],
}


@pytest.mark.parametrize(("name", "task_id", "reference", "sql"), CASES)
def test_expected_rows_follow_from_the_rules(name, task_id, reference, sql):
    task = task_of(name, task_id)
    assert task.expected["rows"] == ROWS[task_id]
    assert reference(task.expected["setup"]) == ROWS[task_id]


@pytest.mark.parametrize(("name", "task_id", "reference", "sql"), CASES)
async def test_a_reference_query_reaches_the_expected_rows(name, task_id, reference, sql):
    score = await executes_to_expected_rows(RunOutput(content={"sql": sql}), task_of(name, task_id).expected)
    assert score.passed, score.reason


@pytest.mark.parametrize(
    ("name", "task_id", "sql"),
    [
        # Sorting by event id alone accepts the reserve of 10.
        ("basic", "inventory-state", AUDIT_SQL.replace("ORDER BY changed_at, event_id)", "ORDER BY event_id)")),
        # An accepted reserve that is never used up lets the second release count.
        (
            "basic",
            "inventory-state",
            AUDIT_SQL.replace("json_remove(s.held, '$.\"' || e.reserve_event_id || '\"')", "s.held"),
        ),
        ("joins", "business-minute-sla", SLA_SQL.replace("AND r.actor_type = 'agent'", "")),
        ("joins", "business-minute-sla", SLA_SQL.replace("AND r.created_at >= t.opened_at", "")),
        ("joins", "business-minute-sla", SLA_SQL.replace("AND date(m) NOT IN (SELECT day FROM holidays)", "")),
        ("joins", "business-minute-sla", SLA_SQL.replace("<= p.sla_minutes", "< p.sla_minutes")),
        ("joins", "business-minute-sla", SLA_SQL.replace("HAVING count(*) >= 2", "")),
        ("window_functions", "stateful-threshold-crossing", CROSSING_SQL.replace("AND previous < 5", "")),
    ],
)
async def test_a_query_that_misses_one_rule_fails(name, task_id, sql):
    assert sql not in (AUDIT_SQL, SLA_SQL, CROSSING_SQL)
    score = await executes_to_expected_rows(RunOutput(content={"sql": sql}), task_of(name, task_id).expected)
    assert not score.passed
    assert "returned rows" in (score.reason or "")


SMALL_SQL = {
    "names-in-department": "SELECT name FROM employees WHERE department = 'Sales' ORDER BY name",
    "total-in-a-month": "SELECT sum(amount) FROM sales WHERE day LIKE '2025-03-%'",
    "join-and-sum": "SELECT name, sum(amount) FROM employees e JOIN sales s ON s.employee_id = e.id "
    "GROUP BY e.id ORDER BY name",
    "second-highest-salary": "SELECT DISTINCT salary FROM employees ORDER BY salary DESC LIMIT 1 OFFSET 1",
    "above-department-average": "SELECT name FROM employees e WHERE salary > "
    "(SELECT avg(salary) FROM employees d WHERE d.department = e.department) ORDER BY name",
    "running-total": "SELECT id, sum(amount) OVER (ORDER BY id) FROM sales ORDER BY id",
}


async def test_every_small_task_has_a_query_that_passes():
    tasks = load("small").env.tasks
    assert {task.id for task in tasks} == set(SMALL_SQL)
    for task in tasks:
        score = await executes_to_expected_rows(RunOutput(content={"sql": SMALL_SQL[task.id]}), task.expected)
        assert score.passed, (task.id, score.reason)
