"""The digest of a function changes when anything changes that decides the score, and only then."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from itertools import count
from pathlib import Path

import pytest

from rollgrid.scorer import CodeScorer, FingerprintError

CORE = str(Path(__file__).parents[3] / "core")
_numbers = count()


def load(folder, source):
    path = folder / "scorers.py"
    path.write_text(textwrap.dedent(source))
    return imported(path)


def imported(path):
    """The module in a file, under a name that nothing else has, and not registered anywhere."""
    spec = importlib.util.spec_from_file_location(f"scorers_{next(_numbers)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def digest_of(tmp_path):
    """The digest of `fn` in a file with this source."""

    def made(source, threshold=0.5):
        folder = tmp_path / str(next(_numbers))
        folder.mkdir()
        return CodeScorer(load(folder, source).fn, threshold).digest()

    return made


BASE = """
    def fn(run, expected):
        return run.content == expected
"""


def test_the_same_source_gives_the_same_digest_wherever_it_stands(digest_of):
    nested = """
    def make():
        def fn(run, expected):
            return run.content == expected
        return fn
    fn = make()
    """
    assert digest_of(BASE) == digest_of("\n\nunrelated = 7\n" + textwrap.dedent(BASE))
    assert digest_of(nested) == digest_of("\n\n" + textwrap.dedent(nested) + "unrelated = 7\n")


def test_the_digest_is_sha256_in_hex(digest_of):
    made = digest_of(BASE)
    assert len(made) == 64
    int(made, 16)


def test_another_body_or_threshold_is_another_digest(digest_of):
    assert digest_of(BASE) != digest_of(BASE.replace("==", "!="))
    assert digest_of(BASE, 0.5) != digest_of(BASE, 0.6)


PAIRS = {
    "a closure": "def make(limit):\n    def fn(run, expected):\n        return limit\n    return fn\nfn = make({})\n",
    "a closure over a list": (
        "def make(names):\n    def fn(run, expected):\n        return run.content in names\n    return fn\n"
        "fn = make([{}])\n"
    ),
    "a default": "LIMIT = {}\ndef fn(run, expected, limit=LIMIT):\n    return limit\n",
    "a keyword default": "LIMIT = {}\ndef fn(run, expected, *, limit=LIMIT):\n    return limit\n",
    "a constant of the module": "LIMIT = {}\ndef fn(run, expected):\n    return LIMIT\n",
    "a constant read in a nested function": (
        "LIMIT = {}\ndef fn(run, expected):\n    return [LIMIT for _ in (1, 2)] + [(lambda: LIMIT)()]\n"
    ),
    "a constant read by a helper": (
        "LIMIT = {}\ndef helper():\n    return LIMIT\ndef fn(run, expected):\n    return helper()\n"
    ),
    "the helper itself": "def helper():\n    return {}\ndef fn(run, expected):\n    return helper()\n",
    "a lambda": "fn = lambda run, expected: {}\n",
    "the second of two lambdas on a line": "other, fn = (lambda run, expected: 0), (lambda run, expected: {})\n",
    "the first of two lambdas on a line": "fn, other = (lambda run, expected: run != {}), (lambda run, e: run)\n",
    "a folded constant": "other, fn = (lambda run, expected: 0 + 1), (lambda run, expected: 1 + {})\n",
    "a lambda in a lambda": "fn = (lambda limit: lambda run, expected: limit)({})\n",
    "a partial": (
        "import functools\ndef base(limit, run, expected):\n    return limit\nfn = functools.partial(base, {})\n"
    ),
    "a bound method's object": (
        "class Judge:\n    def __init__(self, limit):\n        self.limit = limit\n"
        "    def check(self, run, expected):\n        return self.limit\nfn = Judge({}).check\n"
    ),
    "a callable object": (
        "class Judge:\n    def __init__(self, limit):\n        self.limit = limit\n"
        "    def __call__(self, run, expected):\n        return self.limit\nfn = Judge({})\n"
    ),
    "a class's attribute": (
        "LIMIT = {}\nclass Judge:\n    limit = LIMIT\n    def __call__(self, run, expected):\n"
        "        return self.limit\nfn = Judge()\n"
    ),
    "a class that is used": (
        "class Rules:\n    def limit(self):\n        return {}\ndef fn(run, expected):\n    return Rules().limit()\n"
    ),
    "a base class that is used": (
        "class Base:\n    def limit(self):\n        return {}\nclass Rules(Base):\n    pass\n"
        "def fn(run, expected):\n    return Rules().limit()\n"
    ),
    "a wrapped function": (
        "import functools\ndef quiet(inner):\n    @functools.wraps(inner)\n    def outer(*a):\n"
        "        return inner(*a)\n    return outer\n@quiet\ndef fn(run, expected):\n    return {}\n"
    ),
    "a decorator": (
        "import functools\ndef quiet(inner):\n    @functools.wraps(inner)\n    def outer(*a):\n"
        "        return {} and inner(*a)\n    return outer\n@quiet\ndef fn(run, expected):\n    return 1\n"
    ),
    "a cached function": "import functools\n@functools.cache\ndef fn(run, expected):\n    return {}\n",
    "a regular expression": (
        "import re\nPATTERN = re.compile('a' * {})\ndef fn(run, expected):\n    return bool(PATTERN.match('a'))\n"
    ),
    "a set": "WORDS = {{{}, 'x'}}\ndef fn(run, expected):\n    return run.content in WORDS\n",
    "a decimal": (
        "from decimal import Decimal\nLIMIT = Decimal({})\ndef fn(run, expected):\n    return run.content < LIMIT\n"
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Rule:\n    limit: int\nRULE = Rule({})\n"
        "def fn(run, expected):\n    return RULE.limit\n"
    ),
    "a bound method of data": "TABLE = {{1: {}}}\nlookup = TABLE.get\ndef fn(run, expected):\n    return lookup(1)\n",
    "a setting behind a typing alias": (
        "from typing import Literal\nKind = Literal[{}]\ndef fn(run, expected):\n    return Kind\n"
    ),
    "a partial that is used": (
        "import functools\ndef base(limit):\n    return limit\nHELP = functools.partial(base, {})\n"
        "def fn(run, expected):\n    return HELP()\n"
    ),
    "a bound method that is used": (
        "class Tally:\n    def __init__(self, limit):\n        self.limit = limit\n"
        "    def check(self):\n        return self.limit\nCHECK = Tally({}).check\n"
        "def fn(run, expected):\n    return CHECK()\n"
    ),
    "a keyed getter": (
        "import operator\nWHERE = dict(a={})\npick = WHERE.__getitem__\ndef fn(run, expected):\n    return pick('a')\n"
    ),
    "an enum member": (
        "import enum\nclass Mode(enum.Enum):\n    a = 2\n    b = 3\nMODE = Mode({})\n"
        "def fn(run, expected):\n    return MODE is Mode.a\n"
    ),
}


@pytest.mark.parametrize("source", PAIRS.values(), ids=PAIRS.keys())
def test_a_changed_value_never_digests_alike(digest_of, source):
    assert digest_of(source.format(2)) == digest_of(source.format(2))
    assert digest_of(source.format(2)) != digest_of(source.format(3))


@pytest.mark.parametrize(
    "source",
    [
        "import random\nRNG = random.Random(1)\ndef fn(run, expected):\n    return RNG.random()\n",
        "import threading\nLOCK = threading.Lock()\ndef fn(run, expected):\n    return LOCK.locked()\n",
        "HANDLE = object()\ndef fn(run, expected):\n    return HANDLE is run\n",
        "def make(thing):\n    def fn(run, expected):\n        return next(thing)\n    return fn\n"
        "fn = make(iter([1]))\n",
        "LOOP = []\nLOOP.append(LOOP)\ndef fn(run, expected):\n    return LOOP\n",
        "LIMIT = 10 ** 5000\ndef fn(run, expected):\n    return LIMIT\n",
    ],
)
def test_a_value_that_is_no_data_is_an_error_and_never_an_address(digest_of, source):
    with pytest.raises(FingerprintError) as caught:
        digest_of(source)
    assert "0x" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_error_names_the_variable(digest_of):
    source = "HANDLE = object()\ndef fn(run, expected):\n    return HANDLE is run\n"
    with pytest.raises(FingerprintError, match="HANDLE, which fn uses"):
        digest_of(source)


def test_what_only_has_the_name_of_an_attribute_is_not_used(digest_of):
    plain = "def fn(run, expected):\n    return run.content.value == expected\n"
    assert digest_of(plain) == digest_of("value = object()\n" + plain)


def test_functions_of_elsewhere_count_by_name(digest_of):
    source = "from {} import {} as measure\ndef fn(run, expected):\n    return measure\n"
    assert digest_of(source.format("math", "sqrt")) != digest_of(source.format("math", "floor"))
    assert digest_of(source.format("statistics", "mean")) != digest_of(source.format("statistics", "median"))


def test_loggers_and_modules_and_typing_are_no_obstacle(digest_of):
    digest_of(
        "import logging, json, os.path, typing\nfrom typing import Literal\nlog = logging.getLogger(__name__)\n"
        "Kind = Literal['a', 'b'] | None\nPairs = list[tuple[str, int]]\n"
        "def fn(run, expected):\n    log.info('x')\n"
        "    return typing.cast(Kind, json.loads(os.path.join('1'))) or Pairs\n"
    )


def test_a_setting_of_ones_own_module_counts_by_value(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_settings.py").write_text("LIMIT = 1\n")
    module = load(tmp_path, "import own_settings\ndef fn(run, expected):\n    return own_settings.LIMIT\n")
    before = CodeScorer(module.fn).digest()
    module.own_settings.LIMIT = 2
    assert CodeScorer(module.fn).digest() != before


def test_a_path_below_the_scorer_is_the_same_in_another_checkout(tmp_path):
    source = """
    from pathlib import Path
    TABLE = Path(__file__).parent / "data" / "table.csv"
    def fn(run, expected):
        return TABLE.exists()
    """
    digests = set()
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        digests.add(CodeScorer(load(folder, source).fn).digest())
    assert len(digests) == 1


def test_a_function_without_source_is_an_error():
    for fn in (len, eval("lambda run, expected: True")):
        with pytest.raises(FingerprintError, match=r"source|built in"):
            CodeScorer(fn).digest()


SCRIPT = """
import enum
import re
from dataclasses import dataclass
from pydantic import BaseModel, Field
from rollgrid.scorer import CodeScorer, Score

WORDS = {"one", "two", "three", "four", "five", "six"}
PATTERN = re.compile("[a-z]+")

class Kind(enum.Enum):
    "Kinds."
    small = 1
    large = 2

class Answer(BaseModel):
    value: int = Field(ge=0)
    def doubled(self) -> int:
        return self.value * FACTOR

FACTOR = 2

@dataclass(frozen=True)
class Rule:
    limit: float = 0.1
    kinds: tuple = (Kind.small, Kind.large)

RULE = Rule()

def helper(text):
    return [word for word in text.split() if word in WORDS and PATTERN.match(word)]

def fn(run, expected):
    answer = Answer(value=len(helper(str(run.content))))
    return Score(1.0 if answer.doubled() > RULE.limit else 0.0, True)

if __name__ == "__main__":
    print(CodeScorer(fn, 0.25).digest())
"""


def test_another_process_with_another_hash_seed_gives_the_same_digest(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    # A module counts the same whether it is run as a script or imported under any name.
    here = CodeScorer(imported(path).fn, 0.25).digest()
    for seed in ("1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": CORE}
        told = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True, check=True)
        assert told.stdout.strip() == here
