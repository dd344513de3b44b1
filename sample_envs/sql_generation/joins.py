"""Response times in business minutes: five tables, a holiday, a night, and answers that do not count."""

from pydantic import BaseModel, Field

from rollgrid.agent import Agent
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer
from rollgrid.scorer.sql import executes_to_expected_rows


class Query(BaseModel):
    sql: str = Field(..., description="One read-only SQLite query")


SETUP = """
CREATE TABLE organizations (organization_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE sla_policies (organization_id INTEGER PRIMARY KEY, sla_minutes INTEGER NOT NULL);
CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, organization_id INTEGER NOT NULL, opened_at TEXT NOT NULL);
CREATE TABLE responses (
  response_id INTEGER PRIMARY KEY,
  ticket_id INTEGER NOT NULL,
  actor_type TEXT NOT NULL CHECK (actor_type IN ('agent', 'bot')),
  created_at TEXT NOT NULL
);
CREATE TABLE holidays (day TEXT PRIMARY KEY);
INSERT INTO organizations VALUES (1, 'Atlas'), (2, 'Boreal'), (3, 'Cygnus');
INSERT INTO sla_policies VALUES (1, 240), (2, 120), (3, 60);
INSERT INTO holidays VALUES ('2025-07-07');
INSERT INTO tickets VALUES
  (101, 1, '2025-07-04 16:00:00'),
  (102, 1, '2025-07-02 09:00:00'),
  (103, 1, '2025-07-02 16:30:00'),
  (201, 2, '2025-07-03 10:00:00'),
  (202, 2, '2025-07-05 11:00:00'),
  (301, 3, '2025-07-01 10:00:00');
INSERT INTO responses VALUES
  (1, 101, 'agent', '2025-07-08 10:30:00'),
  (2, 102, 'bot', '2025-07-02 09:05:00'),
  (3, 102, 'bot', '2025-07-02 13:00:00'),
  (4, 103, 'agent', '2025-07-03 12:00:00'),
  (5, 201, 'agent', '2025-07-03 09:55:00'),
  (6, 201, 'agent', '2025-07-03 12:01:00'),
  (7, 202, 'agent', '2025-07-08 11:00:00'),
  (8, 103, 'bot', '2025-07-02 16:31:00'),
  (9, 101, 'agent', '2025-07-09 09:00:00'),
  (10, 301, 'agent', '2025-07-01 10:10:00');
"""

PROMPT = """
The SQLite database has these tables; every time is text like '2025-07-02 16:30:00', on a whole minute:

- organizations(organization_id, name)
- sla_policies(organization_id, sla_minutes)
- tickets(ticket_id, organization_id, opened_at)
- responses(response_id, ticket_id, actor_type, created_at), where actor_type is 'agent' or 'bot'
- holidays(day), where day is text like '2025-07-04'

The response of a ticket is the earliest one by an agent that was created at or after the ticket was opened. Its
duration is the number of whole minutes m with opened_at <= m < response time that lie in business hours: Monday to
Friday, not on a day in holidays, from 09:00 (included) to 17:00 (not included). A ticket is within its SLA when it
has a response and the duration is not more than the sla_minutes of its organization; a ticket without a response is
not.

For each organization with at least two tickets return name, ticket_count, within_sla_count and within_sla_rate, which
is within_sla_count divided by ticket_count, rounded to three decimals. Order by within_sla_rate from high to low,
then by name.
""".strip()

agent = Agent(
    model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low", verbosity="low"),
    instructions=(
        "Answer with one SQLite query that only reads. Spell the rules about time out in common table expressions "
        "where that helps, and keep the order of rows that is asked for."
    ),
    output_schema=Query,
)

env = Environment(
    name="business-minute-sla-sql",
    agent=agent,
    tasks=(
        Task(
            id="business-minute-sla",
            input=PROMPT,
            expected={"setup": SETUP, "rows": [["Atlas", 3, 2, 0.667], ["Boreal", 2, 1, 0.5]]},
        ),
    ),
    scorer=CodeScorer(executes_to_expected_rows),
)

if __name__ == "__main__":
    print(run_rollouts(env, k=8, concurrency=4))
