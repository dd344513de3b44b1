"""Small queries over two small tables, for the embedded model: some it always gets, some sometimes, some never."""

from pydantic import BaseModel, Field

from rollgrid.agent import Agent
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.local import LocalModel
from rollgrid.scorer import CodeScorer
from rollgrid.scorer.sql import executes_to_expected_rows


class Query(BaseModel):
    sql: str = Field(..., description="One read-only SQLite query")


SCHEMA = """
CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT, department TEXT, salary INTEGER);
CREATE TABLE sales (id INTEGER PRIMARY KEY, employee_id INTEGER REFERENCES employees (id), amount INTEGER, day TEXT);
""".strip()

SETUP = f"""{SCHEMA}
INSERT INTO employees VALUES
  (1, 'Ada', 'Engineering', 120), (2, 'Ben', 'Sales', 80), (3, 'Cleo', 'Sales', 95),
  (4, 'Dov', 'Engineering', 105), (5, 'Eva', 'Support', 60), (6, 'Fay', 'Sales', 70);
INSERT INTO sales VALUES
  (1, 2, 40, '2025-03-02'), (2, 3, 25, '2025-03-11'), (3, 2, 10, '2025-04-01'),
  (4, 6, 30, '2025-03-29'), (5, 3, 50, '2025-04-17'), (6, 6, 5, '2025-05-08');
"""


def ask(id: str, question: str, rows: list[list[object]]) -> Task:
    return Task(
        id=id,
        input=f"{SCHEMA}\n\n{question}",
        expected={"setup": SETUP, "rows": rows},
    )


agent = Agent(
    model=LocalModel(temperature=0.8, max_tokens=200),
    instructions="Answer with one SQLite query for the question.",
    output_schema=Query,
)

env = Environment(
    name="small-sql",
    agent=agent,
    tasks=(
        ask("names-in-department", "Names of the employees in Sales, by name.", [["Ben"], ["Cleo"], ["Fay"]]),
        ask("total-in-a-month", "The sum of the sales amounts in March 2025. Days are text like 2025-03-02.", [[95]]),
        ask(
            "join-and-sum",
            "Each employee's name with the sum of their sales amounts, only employees with sales, by name.",
            [["Ben", 50], ["Cleo", 75], ["Fay", 35]],
        ),
        ask("second-highest-salary", "The second highest salary.", [[105]]),
        ask(
            "above-department-average",
            "Names of the employees who earn more than the average of their own department, by name.",
            [["Ada"], ["Cleo"]],
        ),
        ask(
            "running-total",
            "For each sale, by id: its id and the running total of amount up to and including it.",
            [[1, 40], [2, 65], [3, 75], [4, 105], [5, 155], [6, 160]],
        ),
    ),
    scorer=CodeScorer(executes_to_expected_rows),
)

if __name__ == "__main__":
    print(run_rollouts(env, k=8))
