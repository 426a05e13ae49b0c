# SPDX-License-Identifier: Apache-2.0
"""The fault table: its rows name codes of the catalogue, and none is lost: each is of a table that a test runs."""

import ast
import json
import subprocess

import pytest
from lab.agent import REPOSITORY, build_folder

SUITES = ("netns", "kube", "consul")
MODULES = sorted(path for suite in SUITES for path in (REPOSITORY / "tests" / suite).glob("test_faults_*.py"))


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def assigned(tree):
    """Values at the module's level, by name; a tuple's one by one."""
    found = {}
    for item in tree.body:
        if isinstance(item, ast.Assign):
            target, value = item.targets[0], item.value
            pairs = zip(target.elts, value.elts) if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) else [(target, value)]
            found |= {name.id: said for name, said in pairs if isinstance(name, ast.Name)}
    return found


def is_table(value):
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Table"


def tables(tree):
    return {name for name, value in assigned(tree).items() if is_table(value)}


def functions(tree):
    return [item for item in tree.body if isinstance(item, ast.FunctionDef)]


def rows(tree):
    """(function, what it was registered with) of each row."""
    names = tables(tree)
    for function in functions(tree):
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id in names:
                yield function, decorator


@pytest.fixture(name="catalogue", scope="module")
def catalogue_fixture():
    command = [build_folder() / "agent/agentctl/agentctl", "help", "fault", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {fault["code"] for fault in json.loads(done.stdout)["items"]}


def test_there_are_rows():
    assert sum(len(list(rows(tree_of(path)))) for path in MODULES) >= 569


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_rows_name_codes_of_the_catalogue(catalogue, path):
    named = {row.name: word.value for row, call in rows(tree_of(path)) for word in call.args}
    unknown = {name: code for name, code in named.items() if code not in catalogue}
    assert unknown == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_row_is_lost(path):
    """A table that no test runs, or a function that is neither a row nor called: one whose decorator went, say."""
    tree = tree_of(path)
    run = {decorator.value.id for function in functions(tree) for decorator in function.decorator_list
           if isinstance(decorator, ast.Attribute) and decorator.attr == "each"}
    assert run == tables(tree)
    called = {name.id for name in ast.walk(tree) if isinstance(name, ast.Name)}
    idle = {function.name for function in functions(tree) if not function.decorator_list} - called
    assert {name for name in idle if not name.startswith("test_")} == set()
