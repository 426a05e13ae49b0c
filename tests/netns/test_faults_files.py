# SPDX-License-Identifier: Apache-2.0
"""Faults of the folders of an agent: manifests that can't be read, and its state."""

import json
import os
import shutil
import subprocess

import pytest
import yaml
from bgp_world import WITHOUT, restart_agent
from cluster import VIP
from faults import ITSELF, Table, check
from lab import objects, wait, wait_equal
from objects_world import OTHER, world_fixture, written  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()


@rows("syntax-wrong", cause="web.yaml:", remedy=ITSELF)
def a_manifest_is_no_yaml(world):
    world.write(world.web + "---\nspec: {a: [}\n")
    yield
    world.write(world.web)


@rows("object-repeated", cause="web.yaml:1 counts", remedy="keep it in one place", beside="counts")
def an_object_is_in_two_files(world):
    world.write(world.web, "zz-copy.yaml")
    yield
    world.remove("zz-copy.yaml")


@rows("manifest-folder-missing", cause="is missing; what was read before stays in force", remedy="make it, or name another")
def the_folder_is_gone(world):
    folder = world.lab.manifests
    away = folder.rename(folder.with_name("away"))
    yield
    away.rename(folder)


@rows("manifest-link-dangling", cause="gone.yaml", remedy=ITSELF)
def a_link_leads_nowhere(world):
    """Expected: told by the file's name."""
    (world.lab.manifests / "gone.yaml").symlink_to("/nonexistent.yaml")
    yield
    world.remove("gone.yaml")


@rows("yaml-gap-too-long", cause=("large.yaml", "more than 16777216 bytes without a value"), remedy=ITSELF)
def a_file_is_too_large(world):
    """Expected: told with the limit."""
    world.write("# " + "x" * (65 << 20) + "\n", "large.yaml")
    yield
    world.remove("large.yaml")


@rows("syntax-tab", cause=("web.yaml:", "tab"), remedy=ITSELF)
def a_tab_indents(world):
    """Expected: file, line, and that it is the tab."""
    world.write(world.web.replace("  name: web", "\tname: web", 1))
    yield
    world.write(world.web)


@rows("syntax-utf16", cause="web.yaml", remedy=ITSELF)
def a_file_is_in_utf_16(world):
    """Expected: told as invalid bytes; the last good content stays."""
    file = world.lab.manifests / "web.yaml"
    file.write_bytes(world.web.encode("utf-16"))
    yield
    world.write(world.web)


@rows("manifest-not-file", cause=("folder.yaml", "is a folder, not a file"), remedy=ITSELF)
def a_manifest_is_a_folder(world):
    """Expected: told by its name, since what is in it is not read."""
    folder = world.lab.manifests / "folder.yaml"
    folder.mkdir()
    yield
    folder.rmdir()


@rows("manifest-not-file", cause=("pipe.yaml", "is a named pipe, not a file"), remedy=ITSELF)
def a_manifest_is_a_pipe(world):
    """Expected: told, and never waited for."""
    os.mkfifo(world.lab.manifests / "pipe.yaml")
    yield
    world.remove("pipe.yaml")


@rows("manifest-link-circular", cause=("loop.yaml", "is a link that leads in a circle"), remedy=ITSELF)
def a_link_leads_to_itself(world):
    """Expected: told by the file's name."""
    (world.lab.manifests / "loop.yaml").symlink_to("loop.yaml")
    yield
    world.remove("loop.yaml")


@rows()
def a_manifest_is_a_list_as_kubectl_prints(world):
    """Expected: no fault; the List's items count as documents of their own."""
    items = list(yaml.safe_load_all(world.web))
    world.write(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    yield
    world.write(world.web)


def full(world, folder):
    """A file system without a free page over a folder: the agent's own process lives in the same mounts."""
    kept = world.node.folder / "kept"
    shutil.copytree(folder, kept, dirs_exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "full", folder], check=True)
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    subprocess.run(["dd", "if=/dev/zero", f"of={folder}/filler", "bs=4k"], stderr=subprocess.DEVNULL, check=False)


@rows("node-state-unwritable", cause=("nothing can be written here any more", "No space left on device"),
      remedy="make room on that file system")
def the_disk_of_the_state_is_full(world):
    """Nothing has to be written until a drain, which is refused then."""
    state = world.agent.settings["paths"]["state"]
    full(world, state)
    answer = world.agent.ctl("drain")
    assert answer.code != 0 and "No space left on device" in answer.err, answer
    yield
    subprocess.run(["umount", state], check=True)


@rows(says={f"explain {OTHER}": f"{OTHER} is announced"})
def a_manifest_was_saved_on_windows(world):
    world.other(OTHER)
    file = world.lab.manifests / "other.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    yield
    world.remove("other.yaml")


@rows()
def editors_leave_copies(world):
    copies = ("web.yaml~", ".web.yaml.swp", "web.yaml.bak", "#web.yaml#")
    for name in copies:
        world.write(world.web.replace(VIP, "203.0.113.77"), name)
    yield
    for name in copies:
        world.remove(name)


def bare(kind, version, **more):
    return {"apiVersion": version, "kind": kind, "metadata": objects.metadata("other", "default"), **more}


@rows()
def other_kinds_stand_beside(world):
    world.lab.write("other.yaml", bare("Deployment", "apps/v1", spec={"replicas": 1}), bare("ConfigMap", "v1", data={"a": "b"}),
                    bare("Secret", "v1", data={"a": "Yg=="}), bare("Ingress", "networking.k8s.io/v1", spec={}))
    yield
    world.remove("other.yaml")


@rows("yaml-key-wrong", cause="other.yaml:", remedy=ITSELF)
def a_template_was_not_rendered(world):
    world.write("apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  {{- toYaml .Values.spec | nindent 2 }}\n",
                "other.yaml")
    yield
    world.remove("other.yaml")


@rows()
def a_file_has_comments_alone(world):
    world.write("# Nothing is here yet.\n---\n# Nor here.\n", "other.yaml")
    yield
    world.remove("other.yaml")


@rows("manifest-object-repeated", cause=("other.yaml:", "Service default/other stands in this file already"),
      remedy="remove one of them")
def a_service_stands_twice_in_one_file(world):
    service = objects.service("other", [OTHER])
    world.lab.write("other.yaml", service, service)
    yield
    world.remove("other.yaml")


@rows(within=1)
def a_manifest_is_json(world):
    world.write(json.dumps(objects.service("other", [OTHER]), indent=4), "other.json")
    yield
    world.remove("other.json")


def link(target, name):
    """Switches a link as git-sync does: the new one is put over the old."""
    made = name.with_name("made")
    made.symlink_to(target)
    os.replace(made, name)


@rows(within=1, heals=True)
def the_folder_is_a_link_that_is_switched(world):
    folder = world.lab.manifests
    first, second = folder.with_name("first"), folder.with_name("second")
    folder.rename(first)
    folder.symlink_to(first)
    wait_equal(world.agent.faults, [], "the link to be read")
    shutil.copytree(first, second)
    text = (second / "web.yaml").read_text(encoding="utf-8")
    (second / "web.yaml").write_text(text.replace(VIP, OTHER), encoding="utf-8")
    link(second, folder)
    yield
    wait_equal(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), True, "what is there now")
    yield
    folder.unlink()
    first.rename(folder)


@rows("manifest-folder-unreadable", within=1, health="failed", cause=("web.yaml", "Not a directory"),
      remedy="name a folder in source.manifests")
def the_folder_of_manifests_is_a_file(world):
    """Nothing has been read since the start, which is worse than was expected."""
    agent = world.agent
    kept = agent.settings["source"]

    def start(source):
        agent.stop()
        agent.settings["source"] = source
        agent.write_config()
        agent.start(ready=False)
    start({"manifests": str(world.lab.manifests / "web.yaml")})
    yield
    start(kept)
    yield


@rows("node-state-unwritable", within=1, cause=("state", "nothing can be written here any more"), remedy="mount -o remount,rw")
def the_state_becomes_read_only(world):
    folder = world.agent.settings["paths"]["state"]
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
    world.other(OTHER)
    wait_equal(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), True, "the other Service")
    yield
    subprocess.run(["umount", "-l", folder], check=True)
    world.remove("other.yaml")


RENDERED = """---
# Source: web/templates/serviceaccount.yaml
---
# Source: web/templates/service.yaml
{}
---
# Source: web/templates/ingress.yaml

---

---
# Source: web/templates/slice.yaml
{}
...
---
"""


@rows(within=1)
def a_chart_was_rendered(world):
    items = (objects.service("other", [OTHER]),
             objects.slice_of("other", [objects.endpoint("10.224.0.1", world.node.role)]))
    world.write(RENDERED.format(*(yaml.safe_dump(item) for item in items)), "other.yaml")
    wait_equal(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), True, "the Service")
    yield
    world.remove("other.yaml")


@rows("syntax-wrong", within=1, cause="agentd.yaml:", remedy=ITSELF)
def a_quotation_mark_is_not_closed(world):
    return written(world, lambda text: f'{text}nodeName: "node1\n' if "nodeName" not in text
                   else text.replace("nodeName: ", 'nodeName: "'))


CONFLICT = """<<<<<<< HEAD
  name: web
=======
  name: shop
>>>>>>> shop
"""


@rows("syntax-wrong", within=1, cause="web.yaml:", remedy=ITSELF)
def a_manifest_has_the_marks_of_a_conflict(world):
    assert "  name: web\n" in world.web
    world.write(world.web.replace("  name: web\n", CONFLICT, 1))
    yield
    world.write(world.web)


def another(world):
    return objects.service("other", [OTHER]), objects.slice_of("other", [objects.endpoint("10.224.0.1", world.node.role)])


@rows("manifest-denied", within=1, cause=("other.yaml", "may not be read"),
      remedy="let the user that the agent runs as read it")
def a_manifest_may_not_be_read(world):
    """As root the agent may read all: it is started without these rights."""
    restart_agent(world, ("setpriv", "--bounding-set", WITHOUT, "--inh-caps", WITHOUT))
    draft, file = world.lab.manifests / ".other", world.lab.manifests / "other.yaml"
    world.lab.write(draft.name, *another(world))
    os.chown(draft, 65534, 65534)
    draft.chmod(0o600)
    draft.rename(file)
    yield
    file.unlink()
    restart_agent(world)


@rows(within=1)
def a_manifest_ends_in_yml(world):
    world.lab.write("other.yml", *another(world))
    wait(lambda: f"blackhole {OTHER} proto 31" in world.node.table(119), "the other Service")
    yield
    world.remove("other.yml")


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
