import sys
import textwrap

import pytest

from rollgrid.errors import EnvironmentLoadError
from rollgrid.runner.load import load_environment

GOOD = """
from rollgrid.environments.environment import Environment
from rollgrid.environments.task import Task

class S:
    async def ascore(self, run, expected): ...
    def digest(self): return "s"

async def agent(input): return "x"

def make(name):
    return Environment(name=name, tasks=(Task("q"),), scorer=S(), agent=agent)
"""


@pytest.fixture(autouse=True)
def _clean_imports(monkeypatch):
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in set(sys.modules) - before:
        if name.startswith("rollgrid_env_") or name == "users_module":
            del sys.modules[name]


@pytest.fixture
def write(tmp_path):
    def put(name, text, *, good=True):
        (tmp_path / name).write_text((GOOD if good else "") + textwrap.dedent(text))
        return tmp_path / name

    return put


def refusal(ref, cwd):
    with pytest.raises(EnvironmentLoadError) as caught:
        load_environment(str(ref), str(cwd))
    assert "\n" not in caught.value.message
    return caught.value


def test_the_only_environment_of_a_file_needs_no_name(write, tmp_path):
    write("a.py", "env = make('one')")
    loaded = load_environment("a.py", str(tmp_path))
    assert loaded.env.name == "one"
    assert loaded.ref == "a.py:env"
    assert load_environment(loaded.ref, loaded.cwd).env is loaded.env


def test_two_names_for_one_environment_are_no_ambiguity(write, tmp_path):
    write("b.py", "env = make('one')\nalias = env")
    assert load_environment("b.py", str(tmp_path)).env.name == "one"


def test_a_name_chooses_among_several(write, tmp_path):
    write("c.py", "x = make('one')\ny = make('two')")
    assert load_environment("c.py:y", str(tmp_path)).env.name == "two"


def test_a_module_is_found_from_the_working_folder(write, tmp_path):
    write("users_module.py", "env = make('m')")
    assert load_environment("users_module:env", str(tmp_path)).env.name == "m"


def test_a_file_can_import_its_neighbour(write, tmp_path):
    write("neighbour_of_d.py", "NAME = 'from next door'", good=False)
    write("d.py", "from neighbour_of_d import NAME\nenv = make(NAME)")
    assert load_environment("d.py", str(tmp_path)).env.name == "from next door"


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    assert refusal("nothing.py", tmp_path).message == "no such file: nothing.py"
    assert refusal("nothing.at.all:env", tmp_path).message == "no such file or module: nothing.at.all:env"


def test_several_environments_are_listed(write, tmp_path):
    write("e.py", "x = make('one')\ny = make('two')")
    error = refusal("e.py", tmp_path)
    assert error.message == "e.py has several Environments: x, y"
    assert error.hint == "name one: e.py:x"


def test_a_file_without_an_environment_says_how_to_make_one(write, tmp_path):
    write("f.py", "x = 1", good=False)
    error = refusal("f.py", tmp_path)
    assert error.message == "f.py makes no Environment"
    assert "env = Environment(...)" in error.hint


def test_a_wrong_name_shows_the_right_ones(write, tmp_path):
    write("g.py", "env = make('one')\nnumber = 5")
    assert refusal("g.py:nope", tmp_path).message == "g.py has no `nope`; it has env"
    assert refusal("g.py:number", tmp_path).message == "`number` in g.py is no Environment but int"


def test_an_import_error_shows_the_users_own_line(write, tmp_path):
    write("h.py", "import os\nimport not_there_at_all\n", good=False)
    message = refusal("h.py", tmp_path).message
    assert message == ("h.py:2: ModuleNotFoundError: No module named 'not_there_at_all' in `import not_there_at_all`")


def test_an_error_below_a_library_shows_the_users_own_line(write, tmp_path):
    write("i.py", "import json\njson.loads('{')\n", good=False)
    message = refusal("i.py", tmp_path).message
    assert message.startswith("i.py:2: JSONDecodeError")
    assert message.endswith("in `json.loads('{')`")


def test_a_syntax_error_names_its_line(write, tmp_path):
    write("j.py", "x = (\n", good=False)
    assert refusal("j.py", tmp_path).message.startswith("j.py:1: SyntaxError: '(' was never closed")


def test_a_file_that_exits_is_an_error_not_an_exit(write, tmp_path):
    write("k.py", "import sys\nsys.exit(4)\n", good=False)
    assert refusal("k.py", tmp_path).message == "k.py:2: SystemExit: 4 in `sys.exit(4)`"
