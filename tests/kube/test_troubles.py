# SPDX-License-Identifier: Apache-2.0
"""An agent fed by a scripted API that does what a real one won't on demand, while changes go on.

Whatever it was, the agent's table ends as the API's objects ask for, and no address that they kept
was ever withdrawn.
"""

import gzip
import json
import os
import random
import socket

import pytest
import scripted
from lab import Lab, objects, wait
from lab.authority import DAY, Authority
from lab.wall_clock import WallClock
from scripted import LIST, WATCH, server_context
from setting import HOST, Setting
from world import in_sync


@pytest.fixture(name="lab", scope="module")
def lab_fixture(request):
    """One for each process that runs tests of this file."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    with Lab(f"{request.node.nodeid}{worker}", nodes=1) as lab:
        yield lab


@pytest.fixture(name="setting")
def setting_fixture(lab, tmp_path):
    setting = Setting(lab, tmp_path)
    yield setting
    setting.end()
    for family in (4, 6):  # a table in which no route ever was does not exist
        setting.node.run("ip", f"-{family}", "route", "flush", "table", "119", check=False)
    setting.world.at_tor(lab, set())


def zipped(handler):
    """The right answer in a form that nobody has asked for."""
    say = handler.say

    def say_zipped(code, document, **headers):
        text = json.dumps(document).encode()
        say(code, gzip.compress(text), Content_Encoding="gzip", **headers)

    handler.say = say_zipped
    handler.answer()


def half_closed(handler):
    """The first half of a chunk, and no more from there; the other direction stays open."""
    handler.begin()
    handler.wfile.write(b'400\r\n{"type":"ADDED",')
    handler.wfile.flush()
    raw = handler.connection.unwrap()
    raw.shutdown(socket.SHUT_WR)
    handler.close_connection = True
    raw.recv(1)  # until the client hangs up


def cuts(seed):
    """Connections that end at random bytes."""
    chooser = random.Random(seed)
    return lambda handler: scripted.cut_after(chooser.randrange(1, 2000))(handler)


# What goes wrong, with which requests, how often.
TROUBLES = {
    "every watch is too old": (WATCH, scripted.gone, 14),
    "watches are refused as too old": (WATCH, scripted.refuse(410), 14),
    "lists are cut": (LIST, cuts("lists"), 14),
    "watches are cut": (WATCH, cuts("watches"), 8),
    "too many requests": (".", scripted.refuse(429, Retry_After=1), 14),
    "the server is ill": (".", scripted.refuse(500), 14),
    "a watch tells of a broken object": (
        WATCH, scripted.watch_event(b'{"type":"MODIFIED","object":{"kind":"Service"}}'), 3),
    "a watch is not JSON": (WATCH, scripted.watch_event(b"<html>502 Bad Gateway</html>"), 7),
    "a watch has invalid UTF-8": (WATCH, scripted.watch_event(
        b'{"type":"MODIFIED","object":{"metadata":{"name":"\xff\xfe"}}}'), 7),
    "a watch is very deep": (WATCH, scripted.watch_event(
        b'{"type":"ADDED","object":' + b"[" * 10000 + b"]" * 10000 + b"}"), 7),
    "watches end at once": (WATCH, scripted.raw(b""), 8),
    "watches are half closed": (WATCH, half_closed, 8),
    "lists are compressed": (LIST, zipped, 7),
    "a login page is in front": (".", scripted.refuse(307, Location="https://192.0.2.9/"), 14),
    "the API ends watches": (WATCH, scripted.watch_event(json.dumps(
        {"type": "ERROR", "object": scripted.status_of(429)}).encode()), 8),
    "the API ends watches for a while": (WATCH, scripted.watch_event(json.dumps(
        {"type": "ERROR", "object": {
            **scripted.status_of(503), "details": {"retryAfterSeconds": 2}}}).encode()), 7),
    "a list is no JSON": (LIST, scripted.raw(b"<html>502 Bad Gateway</html>"), 7),
    "a list has invalid UTF-8": (LIST, scripted.raw(
        b'{"kind":"List","metadata":{"resourceVersion":"1"},"items":[{"x":"\xff"}]}'), 7),
    "a list is very deep": (LIST, scripted.raw(
        b'{"items":[' + b"[" * 10000 + b"]" * 10000 + b"]}"), 7),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_passes(lab, setting, trouble):
    pattern, fault, times = TROUBLES[trouble]
    setting.begin()
    monitor = setting.world.monitor(lab)
    with setting.world.changing(trouble):
        setting.api.fail(pattern, fault, times)
        setting.api.forget()
        wait(setting.api.spent, f"{times} times", 120)
    setting.world.reached(f"after {trouble}", 120)
    assert setting.world.lost(monitor) == []
    assert in_sync(setting.agent)


def test_versions_go_backwards(lab, setting):
    """As after a restore of etcd: the server has other objects, and all are older."""
    setting.begin()
    monitor = setting.world.monitor(lab)
    setting.world.add(50)
    setting.world.reached("with one more")
    setting.world.remove(50)
    setting.api.version = 10
    setting.api.forget()
    setting.world.add(51)
    setting.world.reached("after the restore", 120)
    assert setting.world.lost(monitor) == []


def test_a_huge_object_is_passed_over(setting):
    """100 MiB of one Service: it is a fault, and all else is served."""
    setting.world.add(50)
    service, _ = setting.world.items_of(50)
    service["metadata"]["annotations"] = {"x": "y" * (100 << 20)}
    setting.api.put(service)
    setting.api.start()
    setting.start()
    setting.world.reached("without the huge one", but=[50])
    setting.fault("Service")
    setting.world.add(50)
    setting.world.reached("with it, made smaller")
    setting.no_faults()
    setting.api.put(service)
    setting.fault("Service")
    setting.world.remove(50)  # what tells of it is as long
    setting.world.reached("after it went")
    setting.no_faults()
    assert setting.api.count("/services(?!.*watch=)") == 1


def test_a_token_expires_and_is_replaced(lab, setting):
    token = setting.folder / "token"
    token.write_text("first")
    setting.api.tokens = {"first"}
    setting.begin(user={"tokenFile": str(token)})
    monitor = setting.world.monitor(lab)
    setting.api.tokens = {"second"}
    setting.api.end_watches()
    setting.world.add(50)
    setting.fault("401")
    token.write_text("second")
    setting.world.reached("by the new token", 120)
    setting.no_faults()
    assert setting.world.lost(monitor) == []


def test_the_authority_is_replaced(lab, setting):
    setting.begin()
    monitor = setting.world.monitor(lab)
    new = Authority(setting.folder / "new", "ca")
    setting.api.context = setting.context(new)
    setting.api.hang_up()
    setting.world.add(50)
    (fault,) = setting.fault("can't be reached")
    assert f"not signed by the CA in {setting.pki.certificate} (" in fault["message"]
    assert "new CA" in fault["remedy"]
    setting.pki.certificate.write_bytes(new.certificate.read_bytes())
    setting.world.reached("by the new authority", 120)
    setting.no_faults()
    assert setting.world.lost(monitor) == []


@pytest.mark.parametrize("wrong", ["name", "authority", "time"])
def test_a_wrong_certificate_is_refused(setting, wrong):
    other = Authority(setting.folder / "other", "other")
    setting.api.context = {
        "name": lambda: server_context(setting.pki.issue("elsewhere", hosts=["192.0.2.77"])),
        "authority": lambda: setting.context(other),
        "time": lambda: setting.context(setting.pki, "old", begin=-2 * DAY, end=-DAY),
    }[wrong]()
    setting.api.start()
    setting.start()
    setting.fault("certificate")
    assert setting.api.asked == []
    setting.api.context = setting.context(setting.pki, "good")
    setting.world.reached("by a good certificate", 120)
    setting.no_faults()


def test_a_name_of_its_own_for_tls(setting):
    setting.api.context = server_context(setting.pki.issue("named", hosts=[HOST]))
    setting.begin(**{"tls-server-name": HOST})
    setting.world.add(50)
    setting.world.reached("with one more")


def test_only_what_the_node_needs_is_asked_for(setting):
    """Selectors are the server's work; what it sends all the same is judged as always."""
    setting.begin()
    for kind, selector in {"/endpointslices": "service-proxy-name", "/pods": "spec.nodeName%3Dnode1"}.items():
        paths = [path for path, _ in setting.api.asked if kind in path]
        assert paths and all(selector in path for path in paths)
    theirs = objects.service("theirs", ["203.0.113.200"])
    theirs["metadata"]["labels"] = {"service.kubernetes.io/service-proxy-name": "other"}
    setting.api.put(theirs)
    setting.world.add(50)
    setting.world.reached("without what is another proxy's", but=[200])


def test_the_name_of_the_api_is_not_known_for_a_while(lab, setting):
    setting.begin(host=HOST)
    monitor = setting.world.monitor(lab)
    setting.name_hosts()
    setting.api.stop()
    setting.api.hang_up()
    setting.world.add(50)
    setting.fault(HOST)
    setting.name_hosts(f"{lab.client.address4} {HOST}")
    setting.api.start()
    setting.world.reached("by name", 120)
    setting.no_faults()
    assert setting.world.lost(monitor) == []


def test_the_api_moves_to_another_address(lab, setting):
    moved = "192.0.2.77"
    lab.client.ip("addr", "replace", f"{moved}/24", "dev", "eth0")
    setting.begin(host=HOST)
    monitor = setting.world.monitor(lab)
    setting.api.stop()
    setting.api.address = (moved, scripted.PORT)
    setting.api.context = server_context(setting.pki.issue("moved", hosts=[HOST]))
    setting.api.start()
    setting.name_hosts(f"{moved} {HOST}")
    setting.api.hang_up()
    setting.world.add(50)
    setting.world.reached("at its new address", 120)
    assert setting.world.lost(monitor) == []


def test_the_clock_jumps(lab, setting):
    """By hours: nothing is noticed. To where the API's certificate is not valid: watches that are
    open go on, new ones are refused and say why, and nothing is withdrawn."""
    clock = WallClock(setting.node)
    setting.api.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in clock.environment.items():
            patch.setitem(setting.node.environment, name, value)
        setting.start()
    setting.world.reached("at the start")
    monitor = setting.world.monitor(lab)
    for number, days in enumerate((0.2, -0.02, 0)):
        clock.set(days)
        setting.world.add(50 + number)
        setting.world.reached(f"{days} days away")
        setting.no_faults()
    clock.set(-400)
    setting.world.add(60)
    setting.world.reached("by the watches that are open")
    setting.api.hang_up()
    setting.api.forget()
    setting.world.add(61)
    setting.fault("certificate")
    clock.set(0)
    setting.world.reached("in the present", 120)
    setting.no_faults()
    assert setting.world.lost(monitor) == []


def test_silence_is_not_waited_for_without_end(lab, setting):
    """A watch that is open and silent (bookmarks come each minute), and a list by single bytes."""
    setting.begin()
    monitor = setting.world.monitor(lab)
    setting.api.fail("/services.*watch=", scripted.silence, 1)
    setting.api.fail("/endpointslices.*watch=", scripted.gone, 1)
    setting.api.fail("/endpointslices(?!.*watch=)", scripted.drip, 1)
    setting.api.end_watches()
    setting.world.add(50)
    setting.world.reached("after the silence", 250)
    assert setting.api.spent() and setting.world.lost(monitor) == []


@pytest.mark.parametrize("text, complaint", [
    ("a: [", "flow node"),
    ("apiVersion: v1\nkind: Config\ncurrent-context: none\n", "none"),
])
def test_a_wrong_kubeconfig_is_refused(setting, text, complaint):
    """With its place. Not for good: who starts the agent may try again, for the file may change."""
    path = setting.kubeconfig()
    agent = setting.lab.agent(setting.node, name=setting.folder.name, start=False, kubeconfig=path)
    path.write_text(text)
    agent.start(ready=False)
    assert agent.wait_exit() == 1
    assert complaint in agent.log_tail() and str(path) in agent.log_tail()
    setting.node.agents.remove(agent)
