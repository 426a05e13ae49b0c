# SPDX-License-Identifier: Apache-2.0
"""No two nouns of a room need each other.

A noun is a header with the files that define what it declares: route_table.h with route_table.c, or
view.h with all its view_*.c. A noun needs another if one of its objects refers to a symbol that an
object of the other defines. Nouns that need each other, straight or by way of others, can only be
read, tested and moved together: a circle. Symbols are taken from the objects of the build;
FINGERPOST_BUILD names it.
"""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from lab.agent import REPOSITORY, build_folder

AGENT = REPOSITORY / "agent"
CTAGS = ("ctags", "--languages=C", "--langmap=C:.c.h", "--kinds-C=px", "-x", "--_xformat=%N\t%F")


def declarations(headers):
    """The header of each function and variable that one declares."""
    output = subprocess.check_output([*CTAGS, *map(str, headers)], text=True)
    return dict(row.split("\t") for row in output.splitlines())


def symbols(object_file):
    """What an object defines for others, and what it takes from them."""
    defined, taken = set(), set()
    rows = subprocess.check_output(["nm", "--extern-only", str(object_file)], text=True)
    for row in rows.splitlines():
        kind, symbol = row.split()[-2:]
        (taken if kind == "U" else defined).add(symbol)
    return defined, taken


def noun_of(source, defined, declared):
    """The header by the file's own name, if it declares anything of it; else that of the most."""
    counts = defaultdict(int)
    for symbol in defined:
        if symbol in declared:
            counts[declared[symbol]] += 1
    own = str(Path(source).with_suffix(".h"))
    if not counts or own in counts:
        return own
    return max(sorted(counts), key=counts.get)


def needs_of(objects, declared):
    """Which nouns each noun needs; `objects` has the object of each source of one room."""
    tables = {source: symbols(path) for source, path in objects.items()}
    nouns = {source: noun_of(source, tables[source][0], declared) for source in tables}
    home = {symbol: nouns[source] for source, (defined, _) in tables.items() for symbol in defined}
    needs = defaultdict(set)
    for source, (_, taken) in tables.items():
        needs[nouns[source]] |= {home[symbol] for symbol in taken if symbol in home}
    return {noun: needed - {noun} for noun, needed in needs.items()}


def circles(needs):
    """The largest sets of nouns that all need each other, each sorted."""
    reached = {}
    for noun in needs:
        seen, left = set(), [noun]
        while left:
            for needed in needs.get(left.pop(), ()):
                if needed not in seen:
                    seen.add(needed)
                    left.append(needed)
        reached[noun] = seen
    found = {
        frozenset(other for other in seen if noun in reached.get(other, ()))
        for noun, seen in reached.items()
        if noun in seen
    }
    return sorted(sorted(circle) for circle in found)


def rooms():
    """The objects of each room, by source."""
    build = Path(build_folder())
    found = defaultdict(dict)
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        output = re.search(r" -o (\S+)", entry["command"])[1]
        if AGENT in source.parents and source.suffix == ".c":
            path = source.relative_to(AGENT)
            found[path.parts[0]][str(path)] = build / output
    return found


def circles_of_the_rooms():
    headers = {str(path.relative_to(AGENT)): path for path in AGENT.rglob("*.h")}
    names = {str(path): name for name, path in headers.items()}
    declared = {
        symbol: names[header] for symbol, header in declarations(headers.values()).items()
    }
    found = {}
    for room, objects in rooms().items():
        for circle in circles(needs_of(objects, declared)):
            found[" ".join(circle)] = room
    return found


def test_no_two_nouns_need_each_other():
    assert circles_of_the_rooms() == {}


def test_symbols_are_found():
    found = rooms()
    assert {"base", "plan", "agentd"} <= set(found)
    defined, taken = symbols(found["base"]["base/sorted.c"])
    assert "sorted_put" in defined and "vec_reserve_raw" in taken
    assert "sorted_put" not in taken and "insert" not in defined


def test_a_circle_is_found():
    pair = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    ring = {"e": {"f"}, "f": {"g"}, "g": {"e"}}
    assert circles(pair | ring) == [["b", "c"], ["e", "f", "g"]]
    assert circles({"a": {"b"}, "b": set()}) == []


def test_a_file_belongs_to_the_header_of_its_functions():
    declared = {"f": "x/f.h", "g": "x/g.h", "h": "x/g.h"}
    assert noun_of("x/f.c", {"f", "g", "h"}, declared) == "x/f.h"
    assert noun_of("x/page.c", {"g", "h", "own"}, declared) == "x/g.h"
    assert noun_of("x/main.c", {"main"}, declared) == "x/main.h"
