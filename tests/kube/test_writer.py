# SPDX-License-Identifier: Apache-2.0
"""The writer and a scripted API that fails on purpose: each write is done exactly once.

An object's life is four writes, one after the other: create, update, merge patch, delete. The API
notes what it has done (`effects`), so that a write too many or too few shows.
"""

import os
import random
import threading

import pytest
import scripted
from lab import Lab, wait
from lab.authority import Authority, write_kubeconfig
from scripted import ScriptedApi, server_context
from test_troubles import TROUBLES
from writing import LOST, Writer, target

METHODS = ["POST", "PUT", "PATCH", "DELETE"]
# Refusals after which a write goes on if it has the flag for that. 410 is of watches; 403 is what an
# API server says that has just started and has not read the roles yet.
PASSING = (403, 410)
# How many lives are lived while the server is killed; the soak has more of them, and other seeds.
LIVES = int(os.environ.get("WRITER_LIVES", 250))
SEED = os.environ.get("WRITER_SEED", "killed")
WRITES = "configmaps"  # and the reads that find out what became of them


@pytest.fixture(name="lab", scope="module")
def lab_fixture(request):
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    with Lab(f"{request.node.nodeid}{worker}", nodes=1) as lab:
        yield lab


class Lives:
    """Objects that are written by a Writer: the end of one write begins the next. `apply`: the third
    one is a server-side apply."""

    def __init__(self, writer, names, apply=False):
        self.writer = writer
        self.apply = apply
        self.steps = dict.fromkeys(names, 0)
        self.failed = []
        self.left = len(names)
        writer.listener = self.hear

    def run(self):
        for name in self.steps:
            self.step(name, None)
        wait(lambda: self.left == 0 or self.failed, "the end of all", max(120, len(self.steps)))
        assert self.failed == []

    def hear(self, told):
        if told.outcome in LOST or told.status in PASSING:
            return
        self.steps[told.key] += 1
        if told.outcome != "done":
            self.failed.append(told)
        elif self.steps[told.key] == len(METHODS):
            self.left -= 1
        else:
            self.step(told.key, told)

    def step(self, name, told):
        meta = {"name": name, "namespace": "default"}
        where = target("ConfigMap", name)
        if told is None:
            self.writer.ask(name, "create", where, {"metadata": meta, "data": {"n": "1"}},
                            flags="p")
        elif self.steps[name] == 1:
            based = {**meta, "resourceVersion": told.version}
            self.writer.ask(name, "update", where, {"metadata": based, "data": {"n": "2", "m": "x"}},
                            flags="p")
        elif self.steps[name] == 2 and self.apply:
            self.writer.ask(name, "apply", where, {"apiVersion": "v1", "kind": "ConfigMap",
                                                   "metadata": meta, "data": {"n": "3"}},
                            manager="fingerpost", flags="fp")
        elif self.steps[name] == 2:
            self.writer.ask(name, "merge", where, {"data": {"n": "3", "m": None}}, flags="p")
        else:
            self.writer.ask(name, "delete", where, uid=told.uid, resource_version=told.version,
                            flags="p")


class Scene:
    def __init__(self, lab, folder):
        self.node = lab.nodes[0]
        pki = Authority(folder, "ca")
        context = server_context(pki.issue("server", hosts=[lab.client.address4]))
        self.api = ScriptedApi(lab.client, lab.client.address4, context).start()
        self.kubeconfig = write_kubeconfig(
            folder / "kubeconfig", f"https://{lab.client.address4}:{scripted.PORT}",
            pki.certificate, {})

    def lives(self, names, **more):
        """All of them; then each was done once, in its order, and nothing is left."""
        with Writer(self.node, self.kubeconfig, **more) as writer:
            Lives(writer, names).run()
        for name in names:
            done = [method for method, _, _, of in self.api.effects if of == name]
            assert done == METHODS, (name, done, writer.of(name))
        assert self.api.items("ConfigMap") == []
        return writer


@pytest.fixture(name="scene")
def scene_fixture(lab, tmp_path):
    scene = Scene(lab, tmp_path)
    yield scene
    if scene.api.server:
        scene.api.stop()
    scene.api.hang_up()


FAULTS = {
    **{name: fault for name, (_, fault, _) in TROUBLES.items()},
    "silence": scripted.silence,
    "bytes that drip": scripted.drip,
    "nothing is said": lambda handler: handler.cut(),
    "what was done is not told": scripted.too_late(scripted.Handler.cut),
    "what was done is told as a failure": scripted.too_late(scripted.refuse(504)),
    "what was done is answered by a page": scripted.too_late(scripted.raw(b"<html>hello</html>")),
}


@pytest.mark.parametrize("trouble", FAULTS)
def test_each_write_is_done_once(scene, trouble):
    scene.api.fail(WRITES, FAULTS[trouble], 14)
    scene.lives([f"a{number}" for number in range(8)], answer_ms=1000)
    assert scene.api.spent()


def test_without_trouble_nothing_is_asked_needlessly(scene):
    scene.lives([f"a{number}" for number in range(20)])
    asked = sorted(path.split()[0] for path, _ in scene.api.asked)
    assert asked == sorted(METHODS * 20)


def test_what_is_refused_is_said_in_the_words_of_the_api(scene):
    scene.api.fail("POST", scripted.refuse(403), 1)
    with Writer(scene.node, scene.kubeconfig) as writer:
        writer.ask("a", "create", target("ConfigMap", "a"), {"metadata": {"name": "a"}})
        told = writer.ends("a")
        assert (told.outcome, told.status, told.why) == ("refused", 403, "403: on purpose")
        writer.ask("b", "update", target("ConfigMap", "b"), {"metadata": {"name": "b"}})
        assert writer.ends("b").outcome == "missing"
    assert scene.api.effects == []


@pytest.mark.timeout(300 + 2 * LIVES)
def test_the_server_is_killed_at_random(scene):
    """1,000 writes, of which many are lost on the way there or back."""
    chooser = random.Random(SEED)
    stop = threading.Event()

    def kill():
        while not stop.wait(chooser.uniform(0.05, 0.3)):
            scene.api.stop()
            scene.api.hang_up()
            stop.wait(chooser.uniform(0, 0.1))
            scene.api.start()

    scene.api.fail(WRITES, lambda handler: chooser.choice([
        *[scripted.Handler.answer] * 7, scripted.too_late(scripted.Handler.cut),
        scripted.Handler.cut, scripted.cut_after(chooser.randrange(1, 400))])(handler))
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        writer = scene.lives([f"a{number}" for number in range(LIVES)])
    finally:
        stop.set()
        killer.join()
    lost = [told for told in writer.told if told.outcome == "uncertain"]
    assert len(lost) > 50
