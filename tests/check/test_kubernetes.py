# SPDX-License-Identifier: Apache-2.0
"""What deploy/kubernetes gives to a cluster agrees with what the agent reads."""

import re

import pytest
import yaml
from lab.agent import REPOSITORY

DEPLOY = REPOSITORY / "deploy" / "kubernetes"
MODEL = REPOSITORY / "agent" / "model"
SOURCE = REPOSITORY / "agent" / "source"
CUSTOM = ("coil.cybozu.com", "metallb.io")
# A kind's row: the first members of its struct kind_row.
ROW = re.compile(r'\.api_version = "([\w./]+)",\s*\.name = "(\w+)",\s*(\.namespaced = true)?')
# A field is read by a row of a table, or by a call that names it: doc_get(spec, "replicas").
FIELD = re.compile(r'doc_get\(\w+, "(\w+)"\)|decode_need\(\w+, \w+, "(\w+)"\)|'
                   r'(?:\{|\b[A-Z_]+\()\s*"(\w+)",')
NEED = re.compile(r'decode_need\(\w+, \w+, "(\w+)"\)|'
                  r'\{ "(\w+)",(?:[^{}]|\{[^{}]*\})*?\.required = true')

# What is asked for, as (group, resource): "/apis/discovery.k8s.io/v1/endpointslices".
RESOURCE = re.compile(r'{ KIND_\w+, "/apis?(?:/([\w.]+\.[\w.]+))?/v\d\w*/(\w+)"')

# What the API checks a write as.
PATCHES = {"merge": "patch", "apply": "patch"}
# What is written, as (verb, group, resource).
WRITE = re.compile(r'\.verb = KUBE_(\w+),\s*\.target = \{ \.group = "([\w.]*)",\s*\.version = "\w+",'
                   r'\s*\.plural = "(\w+)"')


def with_events(text):
    """The source of a file that creates Events, and with it the write that it has made for it."""
    event = REPOSITORY / "agent" / "client" / "kube" / "kube_event.c"
    return text + event.read_text(encoding="utf-8") if "kube_event_create(" in text else text


SELECTORS = ("object_selector.c", ("decode_selector", "requirement_fields", "selector_fields"))
# Kinds, the files that decode them, and the tables and functions there that do so.
DECODERS = {
    "AddressPool": [("address_block.c", ("pool_fields", "pool_spec", "subnet_fields"))],
    "AddressBlock": [("address_block.c", ("block_fields",))],
    "BlockRequest": [("block_request.c", ("fields", "spec", "status", "decode_condition"))],
    "Egress": [("egress.c", ("fields", "spec", "status", "budget"))],
    "IPAddressPool": [("ip_pool.c", ("fields", "spec", "allocation")), SELECTORS],
    "BGPAdvertisement": [("advertisement.c", ("refuse", "bgp_fields", "bgp_spec", "SELECTED")),
                         SELECTORS],
    "L2Advertisement": [("advertisement.c", ("l2_fields", "l2_spec", "SELECTED")), SELECTORS],
}


def documents(name):
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def agent_kinds():
    """(group, version, kind, whether it is in a namespace) of all kinds that the agent knows."""
    rows = [row for path in sorted(MODEL.rglob("*.c"))
            for row in ROW.findall(path.read_text(encoding="utf-8"))]
    split = [(api.rpartition("/")[0], api.rpartition("/")[2], kind, namespaced != "")
             for api, kind, namespaced in rows]
    assert len(split) > 5
    return split


def part(text, name):
    """The text of a C function, a table or a macro without arguments."""
    return re.search(rf"^[^\n]*\b{name}(?:[(,)]|\[\] = \{{).*?^}}|^#define {name}\b.*?\n\n", text,
                     re.DOTALL | re.MULTILINE)[0]


def decoder(kind):
    texts = [((MODEL / file).read_text(encoding="utf-8"), names)
             for file, names in DECODERS[kind]]
    return "\n".join(part(text, name) for text, names in texts for name in names)


def walk(schema):
    """The schema of each object below, itself included."""
    yield schema
    for below in [*schema.get("properties", {}).values(), schema.get("items", {})]:
        yield from walk(below) if below else ()


CRDS = {crd["spec"]["names"]["kind"]: crd["spec"]
        for file in ("crds.yaml", "crds-metallb.yaml") for crd in documents(file)}


def schema_of(kind):
    return CRDS[kind]["versions"][0]["schema"]["openAPIV3Schema"]


def test_the_definitions_are_of_the_kinds_that_the_agent_reads():
    wanted = {row for row in agent_kinds() if row[0] in CUSTOM}
    defined = {
        (spec["group"], spec["versions"][0]["name"], kind, spec["scope"] == "Namespaced")
        for kind, spec in CRDS.items()
    }
    assert defined == wanted and set(DECODERS) == set(CRDS)


@pytest.mark.parametrize("kind", DECODERS)
def test_each_field_that_is_read_is_defined(kind):
    read = {"".join(found) for found in FIELD.findall(decoder(kind))}
    defined = {name for schema in walk(schema_of(kind)) for name in schema.get("properties", {})}
    assert read and read <= defined, read - defined


@pytest.mark.parametrize("kind", DECODERS)
def test_what_the_agent_cannot_do_without_is_required(kind):
    needed = {"".join(found) for found in NEED.findall(decoder(kind))}
    required = {name for schema in walk(schema_of(kind)) for name in schema.get("required", [])}
    assert needed and needed == required


def test_the_role_allows_what_is_asked_for_and_nothing_else():
    """Kinds are read; of the rest, as many verbs as the agent's writes have."""
    (role,) = [item for item in documents("rbac.yaml") if item["kind"] == "ClusterRole"]
    read, written = set(), set()
    for rule in role["rules"]:
        assert "*" not in rule["resources"] + rule["apiGroups"] + rule["verbs"]
        named = {(group, resource) for group in rule["apiGroups"] for resource in rule["resources"]}
        if rule["verbs"] == ["get", "list", "watch"]:
            read |= named
        else:
            written |= {(*name, verb) for name in named for verb in rule["verbs"]}
    asked = set(RESOURCE.findall((SOURCE / "kube_resource.c").read_text(encoding="utf-8")))
    assert asked and read == asked
    writes = set()
    for path in sorted(path for room in ("agentd", "report")
                       for path in (REPOSITORY / "agent" / room).rglob("*.c")):
        text = with_events(path.read_text(encoding="utf-8"))
        writes |= {(group, resource, PATCHES.get(verb.lower(), verb.lower()))
                   for verb, group, resource in WRITE.findall(text)}
    assert writes and written == writes


def test_the_role_of_gateways_reads_what_they_ask_for_and_writes_no_object():
    """All that an agent asks for which gives no addresses to pods; Events are of any agent."""
    (role,) = [item for item in documents("controller.yaml")
               if (item["kind"], item["metadata"]["name"]) == ("ClusterRole", "fingerpost-egress")]
    rows = RESOURCE.findall((SOURCE / "kube_resource.c").read_text(encoding="utf-8"))
    assert allowed([role]) == {("create", "events.k8s.io", "events")} | {
        (verb, *row) for row in rows if row != ("", "namespaces") for verb in ("get", "list", "watch")}


CONTROLLER = REPOSITORY / "agent" / "controller"
# The kinds that a job names, and where the controller has them.
JOB_KINDS = re.compile(r"enum kind \w*kinds\[\] = \{(.*?)\}", re.DOTALL)
ROW_OF_KIND = re.compile(r'\{ (KIND_\w+),\s*"/api(?:s/([\w.]+))?/v\d\w*/(\w+)"')


def controllers():
    """The controller's own objects of its file, without the role of the gateways."""
    return [item for item in documents("controller.yaml") if item["metadata"]["name"] != "fingerpost-egress"]


def controller_texts():
    return {path: path.read_text(encoding="utf-8") for path in sorted(CONTROLLER.rglob("*.c"))}


def allowed(items):
    """(verb, group, resource) of all rules of the controller's roles; nothing else may be in these."""
    rules = [rule for item in items if item["kind"] in ("Role", "ClusterRole") for rule in item["rules"]]
    assert not any("*" in rule[part] for rule in rules for part in ("apiGroups", "resources", "verbs"))
    return {(verb, group, resource) for rule in rules for verb in rule["verbs"]
            for group in rule["apiGroups"] for resource in rule["resources"]}


def test_the_controller_may_read_what_its_jobs_name_and_nothing_else():
    texts = controller_texts()
    named = {word for text in texts.values() for found in JOB_KINDS.findall(text)
             for word in re.findall(r"KIND_\w+", found)} - {"KIND_COUNT"}
    rows = {kind: (group, resource)
            for kind, group, resource in ROW_OF_KIND.findall(texts[CONTROLLER / "resources.c"])}
    may = allowed(controllers())
    watched = {(group, resource) for verb, group, resource in may if verb == "watch"}
    assert watched == {rows[kind] for kind in named}
    assert all(("list", *name) in may for name in watched)
    # Who writes has to get what it wrote, where the answer to that was lost. Nobody else gets.
    written = {(group, resource) for verb, group, resource in may
               if verb not in READS and "/" not in resource}
    assert {name for name in watched if ("get", *name) in may} <= written | {
        name[:2] for verb, group, resource in may if "/" in resource
        for name in [(group, resource.split("/")[0])]}


# A write of a job: its verb, and the target with its subresource, if it has one.
JOB_WRITE = re.compile(
    r'\.verb = KUBE_(\w+),\s*\.target = \{ \.group = "([\w.]*)",\s*\.version = "\w+",'
    r'\s*\.plural = "(\w+)"(?:,\s*\.name = [\w>.-]+,\s*\.subresource = "(\w+)")?')
# The write of a status, of what it names.
STATUS_WRITE = re.compile(
    r'struct kube_target \w+ = \{ \.group = "([\w.]*)",\s*\.version = "\w+",\s*\.plural = "(\w+)" \};'
    r'\s*return write_status\(')
READS = ("get", "list", "watch")
# A row of what the job of egress writes: an apply, which may create, and a deletion; or a status.
MADE = re.compile(r'\{ KIND_\w+, "([\w.]*)", "\w+", "(\w+)",\s*(NULL|"\w+") \}')


def made(text):
    """(verb, group, resource) of these rows; and that the role of gateways may be bound."""
    for group, plural, sub in MADE.findall(text):
        if sub == "NULL":
            yield from ((verb, group, plural) for verb in ("create", "patch", "delete"))
        else:
            yield ("patch", group, f"{plural}/" + sub.strip('"'))
        if plural == "clusterrolebindings":
            yield ("bind", group, "clusterroles")


def test_the_controller_may_write_what_its_jobs_write_and_nothing_else():
    """The Lease is the next test's. What a job reads by name, it may get."""
    asked = {(PATCHES.get(verb.lower(), verb.lower()), group, f"{plural}/{sub}" if sub else plural)
            for text in controller_texts().values()
            for verb, group, plural, sub in JOB_WRITE.findall(with_events(text))}
    asked |= {row for text in controller_texts().values() for row in made(text)}
    asked |= {("patch", group, f"{plural}/status") for text in controller_texts().values()
              for group, plural in STATUS_WRITE.findall(text)}
    sent = {row for row in asked if row[0] not in READS}
    every = allowed(controllers())
    assert sent and sent == {row for row in every if row[0] not in READS and row[2] != "leases"}
    assert asked - sent <= every


def test_the_controller_may_write_its_lease():
    """What elector.c sends, by its verbs; the name is in the role but for creates, which have none."""
    sent = set(re.findall(r"\bKUBE_(GET|CREATE|MERGE|UPDATE|APPLY|DELETE)\b",
                          controller_texts()[CONTROLLER / "elector.c"]))
    verbs = {PATCHES.get(verb.lower(), verb.lower()) for verb in sent}
    items = controllers()
    assert {row for row in allowed(items) if row[2] == "leases"} == {
        (verb, "coordination.k8s.io", "leases") for verb in verbs}
    (role,) = [item for item in items if item["kind"] == "Role"]
    assert {tuple(rule["verbs"]) for rule in role["rules"] if "resourceNames" not in rule} == {("create",)}
