# SPDX-License-Identifier: Apache-2.0
"""The table of verbs, --help, completion, man pages, and the keys of the configuration agree."""

import json
import re
import shutil
import subprocess
import textwrap

import pytest
import schema
import schemas

from conftest import ROOT

MAN = ROOT / "docs" / "man"
PAGES = sorted(path.name for path in MAN.glob("*.scd"))


def page(name):
    return (MAN / f"{name}.scd").read_text(encoding="utf-8")


def section(text, title):
    found = re.search(rf"^# {title}\n(.*?)(?=^# |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def bold(text):
    """What a list of `*a*, *b*` names, line by line."""
    return [
        name
        for line in text.splitlines()
        if line.startswith("*")
        for name in re.findall(r"\*([^*]+)\*", line)
    ]


@pytest.fixture(name="help_text")
def help_fixture(ctl):
    return ctl.run("--help")[1]


@pytest.fixture(name="verbs")
def verbs_fixture(help_text):
    """Verb: its arguments, as --help has them."""
    lines = help_text.split("\n\n")[1].splitlines()
    words = [line[7:28].strip() for line in lines]
    return {
        " ".join(word for word in line.split() if word.islower()):
            " ".join(word for word in line.split() if not word.islower())
        for line in (re.sub(r" -f DIR", " -F DIR", word) for word in words)
    }


def test_help_has_verbs(verbs):
    assert {"status", "config check", "config show", "plan", "help"} <= set(verbs)
    assert verbs["plan"] == "-F DIR" and verbs["config check"] == "[FILE]"


def test_completion_offers_the_verbs_of_help(ctl, verbs):
    offered = []
    for word, *_ in ctl.complete(""):
        second = [f"{word} {more}" for more, *_ in ctl.complete(word, "") if f"{word} {more}" in verbs]
        offered += [word, *second] if word in verbs else second
    assert offered == list(verbs)


def test_the_man_page_has_the_verbs_of_help(verbs):
    headings = re.findall(r"^## (.*)$", section(page("agentctl.1"), "VERBS"), re.MULTILINE)
    shown = [f"{verb} {args}".strip().replace("-F", "-f") for verb, args in verbs.items()]
    assert sorted(headings) == sorted(shown)


def test_options_of_help_completion_and_man_page(ctl, verbs, help_text):
    """The summary has those that most verbs have, `help VERB` all that the verb has."""
    pages = [help_text, *(ctl.run("help", *verb.split())[1] for verb in verbs)]
    rows = re.findall(r"^  (-\w|  ) (--[a-z-]+)(=\S+)?", "\n".join(pages), re.MULTILINE)
    from_help = {option for letter, name, _ in rows for option in (letter.strip(), name)} - {""}
    offered = {word.rstrip("=") for word, *_ in ctl.complete("nonsense", "-")}
    described = {
        name.rstrip("=") for name in bold(section(page("agentctl.1"), "OPTIONS"))
    }
    assert from_help == offered == described


def test_the_forms_of_help_are_those_that_are_taken(ctl, verbs):
    for verb in verbs:
        row = re.search(r"--output=FORM +(.*)", ctl.run("help", *verb.split())[1])[1]
        for form in ("wide", "name"):
            refused = f"has no option -o {form}" in ctl.run(*verb.split(), "-o", form)[2]
            assert refused != bool(re.search(rf"\b{form}\b", row)), (verb, row)


def test_exit_statuses_of_help_and_man_page(help_text):
    codes = set(re.findall(r"\b(\d+) [a-z]", help_text.split("Exit status:")[1].split("More")[0]))
    assert codes == set(bold(section(page("agentctl.1"), "EXIT STATUS"))) and "64" in codes


@pytest.mark.parametrize("room, name", [("agentd", "agentd.8"), ("controller", "agent-controller.8")])
def test_the_daemons_options(room, name):
    source = (ROOT / "agent" / room / "main.c").read_text(encoding="utf-8")
    options = {f"--{name}" for name in re.findall(r'\{ "([a-z-]+)", \w+_argument', source)}
    assert options and options == set(bold(section(page(name), "OPTIONS")))


def keys_of(source, table, prefix=""):
    """Every key of a table of keys and of those below it: a section's own only if it says something."""
    rows = re.search(rf"{table}\[\] = \{{\n(.*?)\n\}};", source, re.DOTALL)[1]
    for row in re.findall(r"\{ (.*?) \},", rows, re.DOTALL):
        found = re.match(r'"(\w+)", (\w+)', row)
        if not found:
            continue
        name = prefix + found[1]
        below = re.search(r"\.keys = (\w+)", row)
        if found[2] != "parse_section":
            yield name
        if below:
            yield from keys_of(source, below[1], f"{name}.")


def test_every_key_of_the_controllers_configuration_is_described():
    source = "".join((ROOT / "agent/config" / name).read_text(encoding="utf-8")
                     for name in ("controller_config.c", "export_keys.c"))
    keys = sorted(keys_of(source, "controller_keys"))
    assert "election.lease" in keys
    assert sorted(bold(section(page("controller.yaml.5"), "KEYS"))) == keys


def test_every_key_of_the_configuration_is_described(ctl, tmp_path):
    config = tmp_path / "agentd.yaml"
    keys = set()
    for more in ("source: { manifests: /tmp }\n",
                 "source: { manifests: /tmp }\negress: { gateway: {} }\nconsul: { clusterID: x }\n",
                 "source: { kubernetes: {} }\naddresses: {}\n"):  # of which the keys are shown if it is there
        config.write_text(more)
        shown = ctl.run("config", "show", str(config), "--json")[1]
        keys |= {item["key"] for item in json.loads(shown)["items"]}
    assert sorted(bold(section(page("agentd.yaml.5"), "KEYS"))) == sorted(keys)
    # And what is shown leaves out no key of the tables that are parsed by; source.kubernetes is
    # shown whole.
    source = "".join(
        (ROOT / "agent/config" / name).read_text(encoding="utf-8") for name in (
            "config.c", "egress.c", "firewall.c", "agent_consul.c", "agent_addresses.c")
    )
    known = re.findall(r'^ *\{ "(\w+)", (?!parse_section)', source, re.MULTILINE)
    known.remove("kubeconfig")
    known.remove("events")
    assert sorted(key.rsplit(".", 1)[-1] for key in keys) == sorted(known)


def test_the_readme_names_every_verb(ctl):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("\n## agentctl\n", 1)[1].split("\n## ", 1)[0]
    named = {verb for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for verb in re.findall("`([^`]+)`", row)}
    verbs = {word for word, *_ in ctl.complete("")} - {"config"}
    assert named == verbs | {f"{first} {word}" for first in ("config", "controller") for word, *_ in ctl.complete(first, "")}


def pages_of_operators():
    """README, and the pages that operations.md leads to."""
    index = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    return ["README.md", *(f"docs/{name}" for name in re.findall(r"\]\(([\w-]+\.md)\)", index))]


def commands(text, program):
    """What a page shows of a program, in a block or within a line: the words of each call."""
    shown = [line for line in re.findall(r"^    (.*)$", text, re.MULTILINE)] + re.findall(r"`([^`]+)`", text)
    for line in shown:
        for call in re.split(r" *(?:&&|\|\||[;|]| # )", line):
            words = re.sub(r" +(?:#|[0-9]?>|->).*", "", call).split()
            if words[:1] == [program]:
                yield words[1:]


def wrong_words(ctl, verbs, words):
    """Of a call of agentctl: a verb or an option that it has not."""
    options = [word.split("=")[0] for word in words if word.startswith("-")]
    named = [word for word in words if not word.startswith("-")] or ["status"]
    if options[:1] == ["-o"]:  # its value is no verb
        named = ["status"] if named == [words[-1]] else named
    verb = " ".join(named[:2]) if " ".join(named[:2]) in verbs else named[0]
    if verb not in verbs:
        return [verb]
    known = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", ctl.run("help", *verb.split())[1])
    return [option for option in options if option not in known]


def test_commands_that_pages_show_exist(ctl, verbs):
    calls = {(name, *words) for name in [*pages_of_operators(), "docs/api.md", "docs/documents.md", "docs/architecture.md",
                                      "docs/testing.md"]
             for words in commands((ROOT / name).read_text(encoding="utf-8"), "agentctl")}
    assert len(calls) > 100
    assert [call for call in sorted(calls) if wrong_words(ctl, verbs, call[1:])] == []


@pytest.mark.parametrize("text, wrong", [
    ("    agentctl config check && agentctl nothing   # a comment", ["nothing"]),
    ("say `agentctl plan -f DIR --node NAME` or `agentctl plan --nodes=NAME`", ["--nodes"]),
    ("`agentctl -v`, `agentctl status -o json` and `agentctl controller blocks | head`", []),
])
def test_a_command_that_is_none_is_found(ctl, verbs, text, wrong):
    assert [word for words in commands(text, "agentctl") for word in wrong_words(ctl, verbs, words)] == wrong


def test_pages_of_operators_have_a_shape():
    """What works first, then choices: each page has a block before its second heading, a table, and an end."""
    for name in pages_of_operators()[1:]:
        if name in ("docs/architecture.md", "docs/security.md", "docs/faults.md"):
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        lines, begin = text.splitlines(), text.split("\n## ", 1)[0]
        assert len(lines) <= 250, name
        assert re.search(r"^\|---", text, re.MULTILINE), name
        assert re.search(r"^(    \S|\|)", begin, re.MULTILINE), name


def blocks(name, first):
    """Indented blocks of a page whose first line matches."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        if re.match(f"    {first}", block):
            yield textwrap.dedent(block)


def examples():
    """Pieces of a configuration that documents show: (document, text)."""
    for name in pages_of_operators():
        for block in blocks(name, r"(# agentd\.yaml\n|(addresses|egress|pods|pools(?=: )|routes|services|source):)"):
            yield name, block
    for block in re.findall(r"^```\n(.*?)^```", page("agentd.yaml.5"), re.MULTILINE | re.DOTALL):
        yield "agentd.yaml.5", block


def test_examples_of_the_configuration_are_valid(ctl, tmp_path):
    shown = list(examples())
    assert {name for name, _ in shown} == {"agentd.yaml.5", *(f"docs/{name}.md" for name in (
        "claims", "egress", "export", "firewall", "migration", "pods", "pools", "services"))}
    for name, text in shown:
        config = tmp_path / "agentd.yaml"
        source = "source: {kubernetes: {}}\n" if text.startswith("addresses:") else "source: {manifests: /x}\n"
        config.write_text(text if "source:" in text else text + source)
        assert ctl.run("config", "check", str(config))[0] == 0, (name, text)


def test_examples_of_the_controllers_configuration_are_valid(ctl, tmp_path):
    shown = [(name, block) for name in pages_of_operators() for block in blocks(name, r"# (\S*/)?controller\.yaml\n")]
    assert {"docs/controller.md", "docs/export.md"} <= {name for name, _ in shown}
    empty = tmp_path / "manifests"
    empty.mkdir()
    for name, text in shown:
        config = tmp_path / "controller.yaml"
        config.write_text(text if "consul:" in text else text + "consul: {clusterID: x}\n")  # plan shows exports
        assert ctl.run("plan", "-f", str(empty), "--controller", str(config))[::2] == (0, ""), (name, text)


def test_manifests_that_pages_show_have_no_faults(ctl, tmp_path):
    shown = [(name, block) for name in pages_of_operators() for block in blocks(name, "apiVersion:")]
    assert {"docs/egress.md", "docs/pools.md"} <= {name for name, _ in shown}
    for number, (name, text) in enumerate(shown):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "shown.yaml").write_text(text)
        assert ctl.run("plan", "-f", str(folder), "--node", "node1")[0] == 0, (name, text)


def test_requests_of_the_api_are_described():
    source = (ROOT / "agent/api/api.c").read_text(encoding="utf-8")
    source += (ROOT / "agent/api/router.c").read_text(encoding="utf-8")
    source += (ROOT / "agent/agentd/part_api.c").read_text(encoding="utf-8")
    paths = set(re.findall(r'"(/[a-z0-9/]+)"', source))
    assert {"/v1/status", "/v1/drain", "/metrics"} <= paths
    described = bold(section(page("fingerpost-api.7"), "REQUESTS"))
    assert {request.split()[1].split("?")[0] for request in described} == paths
    api = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert paths <= set(re.findall(r"(?:GET|POST) (/[a-z0-9/]+)", api))


def test_metrics_of_nat_are_described():
    """tests/netns asks a live agent for the others; these exist only where NAT is on."""
    source = (ROOT / "agent/api/metrics/view_metrics_nat.c").read_text(encoding="utf-8")
    names = set(re.findall(r'"((?:fingerpost|kubeproxy)_[a-z_]+)"', source))
    described = {
        name
        for name in bold(section(page("fingerpost-metrics.7"), "METRICS"))
        if name.startswith(("fingerpost_nat_", "kubeproxy_"))
    }
    assert described == names and len(names) > 20
    api = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"`((?:fingerpost_nat|kubeproxy)_[a-z_]+)`", api))
    assert shown == names


def test_schemas_are_named():
    names = set(schema.load())
    assert set(re.findall(r"[a-z-]+\.json", page("fingerpost-api.7"))) == names - {"common.json"}
    installed = (ROOT / "docs/meson.build").read_text(encoding="utf-8")
    assert set(re.findall(r"'([a-z-]+\.json)'", installed)) == names


READ = re.compile(r"\b(?:field(?:_int|_is|_true|_ago)?|doc_get|answer_word)\("
                  r'(?:[^();"]|\([^()]*\))*"([A-Za-z][A-Za-z0-9-]*)"')


def test_members_that_verbs_read_are_fields():
    """A member that no document has would be shown as "-" for ever."""
    fields = {name for _, _, text in schemas.TITLE.findall(schemas.PAGE.read_text(encoding="utf-8"))
              for line in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`\.*([\w-]+)", line)}
    read = {name for path in (ROOT / "agent/agentctl").rglob("*.c") for name in READ.findall(path.read_text(encoding="utf-8"))}
    assert len(read) > 200
    assert read - fields - {"apiVersion", "kind"} == set()


@pytest.mark.parametrize("code", ['field(doc_get(item, "last"), "at")', 'field_is(a(b), "at", "x")', 'doc_get(\n  x, "at")'])
def test_a_member_that_is_read_is_found(code):
    assert "at" in READ.findall(code)


@pytest.mark.parametrize("name", PAGES)
def test_page_is_built_and_complete(name):
    if not shutil.which("scdoc"):
        pytest.fail("scdoc is not installed")
    text = (MAN / name).read_text(encoding="utf-8")
    done = subprocess.run(["scdoc"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "# EXAMPLES\n" in text and "# SEE ALSO\n" in text
    if name in ("agentctl.1.scd", "agentd.8.scd"):
        assert "# EXIT STATUS\n" in text
    installed = (ROOT / "docs/meson.build").read_text(encoding="utf-8")
    assert f"'{name.removesuffix('.scd')}'" in installed
    for other in re.findall(r"\*([a-z.-]+)\*\((\d)\)", text):
        ours = other[0].startswith(("agent", "fingerpost"))
        assert not ours or f"{other[0]}.{other[1]}.scd" in PAGES, other
