# SPDX-License-Identifier: Apache-2.0
"""Claims in a real etcd: what is read, written and heard, with endpoints that go, TLS with client
certificates, a history that is compacted, and a store that was restored from before."""

import base64
import json
import subprocess
import threading
import time
from collections import namedtuple

import pytest
from lab import Lab, wait
from lab.agent import SANITIZERS, build_folder
from lab.authority import Authority
from lab.kube_programs import program

PREFIX = "/fingerpost/addresses/"
ADDRESSES = ("192.0.2.1", "192.0.2.2", "192.0.2.3")

Told = namedtuple("Told", "key outcome holder version watched why after")


@pytest.fixture(name="host")
def host_fixture(request):
    with Lab(request.node.nodeid, nodes=1) as lab:
        host = lab.nodes[0]
        for address in ADDRESSES:
            host.ip("address", "add", f"{address}/32", "dev", "lo")
        yield host


class Member:
    """One etcd of a cluster of `addresses`, with TLS if there is an authority."""

    def __init__(self, host, address, addresses, pki=None, folder=None, new=True):
        self.host, self.address = host, address
        self.scheme = "https" if pki else "http"
        self.url = f"{self.scheme}://{address}:2379"
        self.folder = folder or host.folder / f"etcd-{address}"
        cluster = ",".join(f"m{each}=http://{each}:2380" for each in addresses)
        self.arguments = [
            f"--name=m{address}", f"--data-dir={self.folder}", f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}", f"--listen-peer-urls=http://{address}:2380",
            f"--initial-advertise-peer-urls=http://{address}:2380", f"--initial-cluster={cluster}",
            "--heartbeat-interval=50", "--election-timeout=500", "--unsafe-no-fsync",
            "--log-level=warn"]
        if pki:
            server = pki.issue(f"etcd-{address}", hosts=[address])
            self.arguments += [f"--cert-file={server.certificate}", f"--key-file={server.key}",
                               f"--trusted-ca-file={pki.certificate}", "--client-cert-auth"]
        self.process = None
        self.start()

    def start(self):
        self.process = self.host.start(program("etcd"), *self.arguments,
                                       log=f"etcd-{self.address}.log")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Claimant:
    """claimant.c: lines go in, answers and what is heard come out. `members`: or a kubeconfig."""

    def __init__(self, host, *members, files=(), prefix=PREFIX):
        command = [str(build_folder() / "tests" / "kube" / "claimant"),
                   ",".join(member if isinstance(member, str) else member.url
                            for member in members), prefix, *map(str, files)]
        log = open(host.folder / f"claimant-{len(host.processes)}.log", "wb")
        with host.entered(), log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**host.environment, **SANITIZERS}, start_new_session=True)
        host.processes.append(self.process)
        self.told, self.heard, self.watching = [], {}, []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            word, *fields = line.rstrip("\n").split("\t")
            if word == "told":
                self.told.append(Told(*fields))
            elif word == "heard":
                self.heard[fields[0]] = (fields[1], fields[2])
            else:
                self.watching.append(fields[0])

    def say(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def ask(self, *words):
        """The answer."""
        before = len(self.told)
        self.say(*words)
        wait(lambda: len(self.told) > before, f"the answer to {words}", 15)
        return self.told[before]

    def begin(self):
        """Asks until there is an answer that is none of trouble."""
        return wait(lambda: (told := self.ask("read", "begin")).outcome == "absent" and told,
                    "etcd", 60)

    def write(self, key, holder):
        """Writes until it is done, by what is there: of what was asked without an answer nobody knows
        whether it is still to be done, and it may be between a reading and a write."""
        def once():
            there = self.ask("read", key)
            if there.outcome == "absent":
                told = self.ask("create", key, holder)
            elif there.outcome == "done":
                told = self.ask("update", key, holder, there.version)
            else:
                return False
            return told.outcome == "done" and told
        return wait(once, f"a write of {key}", 60)

    def watch(self):
        self.say("watch")
        wait(lambda: self.watching and self.watching[-1] == "", "the watch", 30)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0


def test_what_is_written_is_read_and_heard(host):
    member = Member(host, ADDRESSES[0], ADDRESSES[:1])
    one, two = Claimant(host, member), Claimant(host, member)
    one.begin()
    two.watch()
    assert two.ask("read", "a").watched == "1" and one.ask("read", "a").watched == "0"

    made = one.ask("create", "a", "node-1")
    assert made.outcome == "done" and made.version
    assert two.ask("create", "a", "node-2").outcome == "conflict"
    read = two.ask("read", "a")
    assert (read.outcome, read.holder, read.version) == ("done", "node-1", made.version)
    wait(lambda: two.heard.get("a") == ("node-1", made.version), "word of it")

    renewed = one.ask("update", "a", "node-1", made.version)
    assert renewed.outcome == "done" and renewed.version != made.version
    assert two.ask("update", "a", "node-2", made.version).outcome == "conflict"
    taken = two.ask("update", "a", "node-2", renewed.version)
    assert taken.outcome == "done" and one.ask("update", "a", "node-1",
                                               renewed.version).outcome == "conflict"
    wait(lambda: two.heard.get("a") == ("node-2", taken.version), "word of that")
    # What has changed since is not deleted; what is as it was seen goes.
    assert one.ask("remove", "a", renewed.version).outcome == "conflict"
    spare = one.ask("create", "b", "node-1")
    wait(lambda: two.heard.get("b") == ("node-1", spare.version), "word of another")
    assert two.ask("remove", "b", spare.version).outcome == "done"
    assert one.ask("read", "b").outcome == "absent"
    wait(lambda: two.heard.get("b") == ("", ""), "word of its end")
    assert two.ask("remove", "b", spare.version).outcome == "conflict"
    # Who begins to watch hears of all that is there.
    one.watch()
    wait(lambda: one.heard.get("a") == ("node-2", taken.version), "the list")
    for claimant in (one, two):
        claimant.end()


def test_another_endpoint_is_asked_where_one_is_gone(host):
    members = [Member(host, address, ADDRESSES) for address in ADDRESSES]
    one = Claimant(host, "http://192.0.2.1:1", *members)
    one.begin()
    one.watch()
    one.write("a", "node-1")
    for member in members:
        member.kill()
        # Of what was under way nobody knows; after that it goes on, by the others.
        wait(lambda: one.ask("read", "a").outcome == "done", "an answer by another", 60)
        made = one.write("a", "node-1")
        wait(lambda: one.heard.get("a") == ("node-1", made.version), "word by another", 60)
        member.start()
    one.end()


def test_nobody_answers(host):
    member = Member(host, ADDRESSES[0], ADDRESSES[:1])
    one = Claimant(host, member)
    one.begin()
    made = one.ask("create", "a", "node-1")
    member.process.send_signal(19)  # SIGSTOP: it takes the request, and says nothing
    silent = one.ask("update", "a", "node-1", made.version)
    assert silent.outcome == "failed" and "imed out" in silent.why
    member.process.send_signal(18)
    one.write("a", "node-1")
    member.kill()
    gone = one.ask("read", "a")
    assert gone.outcome == "failed" and member.url in gone.why
    one.end()


@pytest.mark.parametrize("tls", [False, True])
def test_watches_do_not_hold_up_an_orderly_stop(host, tls):
    """Of who has just written, and of who only watches: etcd waits for seven seconds for a watch that goes on."""
    pki = Authority(host.folder / "pki") if tls else None
    user = pki.issue("agent") if tls else None
    files = (pki.certificate, user.certificate, user.key) if tls else ()
    member = Member(host, ADDRESSES[0], ADDRESSES[:1], pki)
    writer, watcher = Claimant(host, member, files=files), Claimant(host, member, files=files)
    writer.begin()
    made = writer.ask("create", "a", "node-1")
    for claimant in (writer, watcher):
        claimant.watch()
        wait(lambda claimant=claimant: "a" in claimant.heard, "the list")
    for _ in range(2):
        begun = time.monotonic()
        member.stop()
        seconds = time.monotonic() - begun
        print(f"etcd ended {seconds:.1f} s after SIGTERM")
        assert seconds < 3
        member.start()
        wait(lambda: (told := writer.ask("read", "a")).outcome == "done" and told, "etcd", 60)
        made = writer.write("a", "node-1")
        wait(lambda made=made: watcher.heard["a"][1] == made.version, "word of what was written since", 30)
        wait(lambda: watcher.watching[-1] == "", "the watch", 30)
    for claimant in (writer, watcher):
        claimant.end()


def test_certificates_of_both_sides(host):
    pki, other = Authority(host.folder / "pki"), Authority(host.folder / "other", "other")
    member = Member(host, ADDRESSES[0], ADDRESSES[:1], pki)
    agent = pki.issue("agent")
    stranger = other.issue("agent")
    one = Claimant(host, member, files=(pki.certificate, agent.certificate, agent.key))
    one.begin()
    one.watch()
    assert one.ask("create", "a", "node-1").outcome == "done"
    wait(lambda: "a" in one.heard, "word of it")
    one.end()
    unknown = Claimant(host, member, files=(other.certificate, agent.certificate, agent.key))
    assert "certificate" in unknown.ask("read", "a").why
    unknown.end()
    refused = Claimant(host, member, files=(pki.certificate, stranger.certificate, stranger.key))
    told = refused.ask("read", "a")
    assert told.outcome == "failed" and told.why
    refused.end()


def curl(host, member, path, body):
    return host.run("curl", "-sS", f"{member.url}{path}", "-d", body).stdout


def test_etcd_has_users(host):
    """Its gateway goes by tokens: they end while nobody asks, and with etcd itself, and with each change of users."""
    member = Member(host, ADDRESSES[0], ADDRESSES[:1])
    member.stop()
    member.arguments.append("--auth-token-ttl=2")
    member.start()
    password = host.folder / "password"
    password.write_text("sesame\n")
    nobody = Claimant(host, member)
    user = Claimant(host, member, files=("node", password))
    nobody.begin()
    told = user.ask("read", "a")
    assert told.outcome == "failed" and "authentication is not enabled" in told.why, told

    def auth(what, token="", **body):
        return json.loads(host.run("curl", "-sS", f"{member.url}/v3/auth/{what}", "-d", json.dumps(body),
                                   "-H", f"Authorization: {token}").stdout)

    for name, secret in (("root", "r"), ("node", "sesame")):
        auth("user/add", name=name, password=secret)
        auth("role/add", name=name)
        auth("user/grant", user=name, role=name)
    key, end = (base64.b64encode(text.encode()).decode() for text in (PREFIX, PREFIX[:-1] + "0"))
    auth("role/grant", name="node", perm={"permType": "READWRITE", "key": key, "range_end": end})
    auth("enable")
    told = nobody.ask("read", "a")
    assert told.outcome == "failed" and "user name is empty" in told.why
    user.begin()
    user.watch()
    made = user.write("a", "node-1")
    wait(lambda: user.heard.get("a") == ("node-1", made.version), "word of it")
    # A token is over, and so is a watch's that has to begin anew.
    wait(lambda begun=time.monotonic(): time.monotonic() > begun + 4, "the token's end", 10)
    assert user.ask("read", "a").holder == "node-1"
    member.stop()
    member.start()
    made = user.write("a", "node-1")
    wait(lambda: user.heard.get("a") == ("node-1", made.version), "word of what came after a restart", 60)
    # Another password is read where it is needed; a wrong one is told, and no secret with it.
    token = auth("authenticate", name="root", password="r")["token"]
    auth("user/changepw", token, name="node", password="barley")
    told = user.ask("read", "a")
    assert told.outcome == "failed" and "authentication failed" in told.why and "sesame" not in str(user.told), told
    password.write_text("barley")
    wait(lambda: user.ask("read", "a").holder == "node-1", "the next login", 10)
    password.unlink()
    auth("user/changepw", auth("authenticate", name="root", password="r")["token"], name="node", password="oats")
    told = user.ask("read", "a")
    assert told.outcome == "failed" and "the file of the password: No such file" in told.why, told
    for claimant in (nobody, user):
        claimant.end()
    for log in host.folder.glob("*.log"):
        assert not [word for word in ("sesame", "barley", "oats") if word in log.read_text(errors="replace")], log


def test_a_watch_begins_anew_after_compaction_and_restoration(host):
    member = Member(host, ADDRESSES[0], ADDRESSES[:1])
    one, two, late = Claimant(host, member), Claimant(host, member), Claimant(host, member)
    one.begin()
    version = one.ask("create", "a", "node-1").version
    member.stop()
    host.run("cp", "-a", member.folder, f"{member.folder}-before")
    member.start()
    one.begin()
    two.watch()
    # After the copy: what the restored store does not know.
    for _ in range(5):
        version = one.ask("update", "a", "node-1", version).version
    assert one.ask("create", "b", "node-1").outcome == "done"
    wait(lambda: two.heard.get("a") == ("node-1", version) and "b" in two.heard, "word of all")

    # While the watch is broken its next revision is compacted away.
    member.stop()
    wait(lambda: two.watching[-1] != "", "that the watch is broken")
    member.start()
    wait(lambda: two.watching[-1] == "", "the watch again", 60)
    revision = int(one.begin() and version.partition("-")[0])
    curl(host, member, "/v3/kv/compaction", f'{{"revision": "{revision}"}}')
    newer = one.ask("update", "a", "node-1", version)
    assert newer.outcome == "done"
    wait(lambda: two.heard.get("a") == ("node-1", newer.version), "word after the compaction", 60)
    last = one.ask("update", "a", "node-1", newer.version).version
    assert late.begin() and late.ask("read", "a").version == last

    member.stop()
    host.run("rm", "-r", member.folder)
    host.run("mv", f"{member.folder}-before", member.folder)
    member.start()
    wait(lambda: two.heard.get("b") == ("", ""), "that it is gone", 120)
    # A number that comes again is not taken for what it was: another agent wrote it.
    read = two.ask("read", "a")
    while int(read.version.partition("-")[0]) < int(newer.version.partition("-")[0]):
        assert two.ask("update", "a", "node-2", read.version).outcome == "done"
        read = two.ask("read", "a")
    assert read.holder == "node-2"
    assert read.version.partition("-")[0] == newer.version.partition("-")[0]
    assert one.ask("update", "a", "node-1", newer.version).outcome == "conflict"
    # Nor for another write of the same agent: it renews, and who takes it knows nothing of that.
    assert one.ask("read", "a").version == read.version
    assert one.ask("update", "a", "node-1", read.version).version == last
    assert late.ask("update", "a", "node-3", last).outcome == "conflict"
    assert late.ask("read", "a").holder == "node-1"
    assert late.ask("update", "a", "node-3", last).outcome == "done"
    for claimant in (one, two, late):
        claimant.end()
