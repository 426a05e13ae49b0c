# SPDX-License-Identifier: Apache-2.0
"""agentd and agentctl in a node's namespace."""

import http.client
import json
import os
import signal
import socket
import threading
from collections import namedtuple
from pathlib import Path

import yaml

from .wait import Timeout, wait

REPOSITORY = Path(__file__).resolve().parents[2]
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}

Answer = namedtuple("Answer", "code out err")


class Connection(http.client.HTTPConnection):
    """HTTP over an agent's socket, for as long as it lasts."""

    def __init__(self, path):
        super().__init__("agentd", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def build_folder():
    return Path(os.environ.get("FINGERPOST_BUILD", REPOSITORY / "build")).resolve()


def program(name):
    """A program of the build under test (FINGERPOST_BUILD, default build/)."""
    path = build_folder() / "agent" / name / name
    if not path.exists():
        raise FileNotFoundError(f"{path}: not built; set FINGERPOST_BUILD to the build folder")
    return str(path)


def merged(base, more):
    """A copy of a tree of dicts with another laid over it."""
    result = dict(base)
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


class Agent:
    """One agentd. It can be stopped, killed and started again on the same folders."""

    def __init__(self, node, source, overrides=None, name="agentd"):
        """`source`: as in the configuration."""
        self.node = node
        self.name = name
        self.folder = node.folder / name
        self.folder.mkdir()
        self.config_file = self.folder / "agentd.yaml"
        self.log = self.folder / "agentd.log"
        self.socket = self.folder / "run" / "agentd.sock"
        self.settings = merged(
            {
                "node": node.role,
                "source": source,
                "services": {"enabled": False},
                "paths": {
                    "run": str(self.folder / "run"),
                    "state": str(self.folder / "state"),
                    "bpf": str(self.folder / "bpf"),
                },
            },
            overrides or {},
        )
        for folder in self.settings["paths"].values():
            Path(folder).mkdir(parents=True, exist_ok=True)
        self.write_config()
        self.process = None
        self.notify = None
        self.notified = []  # assignments received by sd_notify since the start
        self.wrapper = ()  # a command that starts it, such as one that takes rights away

    def write_config(self, text=None):
        self.config_file.write_text(text or yaml.safe_dump(self.settings), encoding="utf-8")

    def start(self, ready=True):
        """Starts agentd and, unless told otherwise, waits until it says READY to its manager."""
        address = self.folder / "notify"
        address.unlink(missing_ok=True)
        if self.notify:
            self.notify.shutdown(socket.SHUT_RDWR)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(address))
        self.notified = []
        # Read at once, as a service manager does: a full queue would block the agent.
        threading.Thread(
            target=self._listen, args=(self.notify, self.notified), daemon=True
        ).start()
        self.process = self.node.start(
            *self.wrapper, program("agentd"), "--config", str(self.config_file),
            log=f"{self.name}/agentd.log", NOTIFY_SOCKET=str(address), **SANITIZERS,
        )
        if ready:
            # The kernel verifies NAT's programs at each start: seconds where others want to run, too.
            wait(self.ready, f"READY=1 of {self.name} on {self.node}", 120)
        return self

    @staticmethod
    def _listen(notify, notified):
        with notify:
            while message := notify.recv(65536):
                notified += message.decode().splitlines()

    def ready(self):
        """True once READY=1 was received; an error if the agent has ended."""
        if self.process.poll() is not None:
            raise RuntimeError(f"agentd ended with {self.process.returncode}:\n{self.log_tail()}")
        return "READY=1" in self.notified

    def running(self):
        return self.process is not None and self.process.poll() is None

    def wait_exit(self, timeout=30):
        """Waits until the process has ended; returns its exit status."""
        wait(lambda: not self.running(), f"end of {self.name} on {self.node}", timeout)
        return self.process.returncode

    def kill(self):
        """As by kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """A clean stop: SIGTERM, exit 0, and nothing to say for the sanitizers."""
        self.process.terminate()
        try:
            code = self.wait_exit()
        except Timeout:
            self.kill()
            raise
        report = self.log.read_text(errors="replace")
        bad = "Sanitizer" in report or "runtime error:" in report
        assert code == 0 and not bad, f"agentd ended with {code}:\n{self.log_tail(80)}"

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def log_tail(self, lines=30):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def ctl(self, *words, timeout=60):
        """Runs agentctl; returns (code, out, err)."""
        command = (program("agentctl"), "--socket", str(self.socket), *words)
        done = self.node.run(*command, check=False, timeout=timeout)
        return Answer(done.returncode, done.stdout, done.stderr)

    def json(self, *words):
        """The document that agentctl prints with --json."""
        answer = self.ctl(*words, "--json")
        assert answer.out, f"agentctl {words} ended with {answer.code}: {answer.err}"
        return json.loads(answer.out)

    def get(self, path):
        """The body of a GET on its socket."""
        connection = Connection(self.socket)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def settled(self, timeout=30):
        """Waits until all that the agent has seen of its manifests stands in the kernel. Whether it
        is healthy is the caller's question: 2 is "failed" as well as "unreachable"."""
        answer = self.ctl("status", f"--wait={timeout}s", timeout=timeout + 30)
        assert answer.out and answer.code in (0, 1, 2), f"agentctl status: {answer}"
        return self.json("status")

    def faults(self):
        return self.json("faults")["items"]
