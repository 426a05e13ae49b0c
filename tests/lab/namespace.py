# SPDX-License-Identifier: Apache-2.0
"""A network namespace as a host: commands, daemons and sockets in it."""

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path

from .reaper import LAB_MARK

CLONE_NEWNET = 0x40000000
MISHAP = re.compile("Drop|Discard|Err|Overflow|Retrans|Timeouts|Fail|NoRoutes|Challenge|RPFilter")
libc = ctypes.CDLL(None, use_errno=True)


class CommandFailed(subprocess.SubprocessError):
    pass


def inverted_sum(data):
    """The Internet checksum (RFC 1071)."""
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2))
    total = sum(words) % 0xFFFF  # of a sum that isn't 0, 0xFFFF stands for 0
    return struct.pack("!H", 0xFFFF - (total or 0xFFFF))


def setns(fd):
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Namespace:
    """The namespace is entered for a moment by the calling thread; what is made meanwhile
    (a child, a socket) stays in it. `ip netns exec` would put another /sys in place as well."""

    # Strict reverse path filtering everywhere: what works here works on hardened nodes. Errors
    # are not rate limited, so that each probe gets its answer.
    SYSCTLS = {
        "net/ipv4/conf/all/rp_filter": 1,
        "net/ipv4/conf/default/rp_filter": 1,
        "net/ipv4/icmp_ratelimit": 0,
        "net/ipv6/icmp/ratelimit": 0,
        "net/ipv6/conf/all/accept_dad": 0,
        "net/ipv6/conf/default/accept_dad": 0,
    }
    FORWARDING = {"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1}

    def __init__(self, label, role, folder):
        self.role = role
        self.name = f"{label}-{role}"
        self.folder = Path(folder) / role
        self.folder.mkdir(parents=True)
        self.environment = {**os.environ, LAB_MARK: label, "LC_ALL": "C"}
        self.processes = []

    def __str__(self):
        return self.role

    def handle(self):
        """The file by which it is entered."""
        return f"/run/netns/{self.name}"

    def exists(self):
        return Path("/run/netns", self.name).exists()

    def create(self, forwarding):
        subprocess.run(["ip", "netns", "add", self.name], check=True, env=self.environment)
        self.set_sysctls({**self.SYSCTLS, **(self.FORWARDING if forwarding else {})})
        self.configure("link set lo up")

    def remove_name(self):
        """What is left is who has it open, and the files."""
        subprocess.run(["ip", "netns", "del", self.name], check=True, env=self.environment)

    def remove(self):
        """Kills what runs here and removes the namespace, its interfaces and its files."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.remove_name()
        shutil.rmtree(self.folder)

    def set_sysctls(self, values):
        with self.entered():
            for key, value in values.items():
                Path("/proc/sys", key).write_text(str(value), encoding="ascii")

    @contextlib.contextmanager
    def entered(self):
        with open("/proc/thread-self/ns/net", "rb") as old:
            with open(self.handle(), "rb") as new:
                setns(new.fileno())
            try:
                yield
            finally:
                setns(old.fileno())

    def mishaps(self):
        """What the kernel counted here that says of loss: {"TcpExt.ListenDrops": 2}."""
        counts = {}
        with self.entered():
            for name in ("netstat", "snmp"):
                lines = Path("/proc/thread-self/net", name).read_text("ascii").splitlines()
                for names, values in zip(lines[::2], lines[1::2]):
                    group = names.split(":")[0]
                    counts.update((f"{group}.{key}", int(value)) for key, value in
                                  zip(names.split()[1:], values.split()[1:]))
            for line in Path("/proc/thread-self/net/snmp6").read_text("ascii").splitlines():
                key, value = line.split()
                counts[key] = int(value)
        return {key: value for key, value in counts.items() if value and MISHAP.search(key)}

    def run(self, *command, check=True, text=None, timeout=60):
        """Runs a command to its end and returns subprocess's CompletedProcess."""
        with self.entered():
            done = subprocess.run(
                command,
                input=text,
                capture_output=True,
                text=True,
                timeout=timeout,
                env=self.environment,
            )
        if check and done.returncode != 0:
            raise CommandFailed(
                f"{self}: {' '.join(command)}: exit status {done.returncode}\n"
                f"{text or ''}{done.stdout}{done.stderr}"
            )
        return done

    def start(self, *command, log, **environment):
        """Starts a daemon in the foreground; its output goes to a file in the host's folder."""
        with self.entered(), open(self.folder / log, "ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**self.environment, **environment},
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def configure(self, *lines):
        """Lines of iproute2: "route add default via 10.0.1.1"."""
        self.run("ip", "-batch", "-", text="\n".join(lines) + "\n")

    def ip(self, *words):
        return self.run("ip", *words).stdout

    def ip_json(self, *words):
        return json.loads(self.run("ip", "-j", *words).stdout or "[]")

    def table(self, table, family=4):
        """A kernel table as sorted lines of `ip route`; none if there is no such table yet.

        What `ip` adds of itself, and what only IPv6 has (metric 1024, pref medium), is left out.
        """
        done = self.run("ip", f"-{family}", "route", "show", "table", str(table), check=False)
        if done.returncode != 0 and "does not exist" not in done.stderr:
            raise CommandFailed(done.stderr)
        noise = (" pref medium", " metric 1024", " dev lo", " linkdown")
        lines = []
        for line in done.stdout.splitlines():
            for word in noise:
                line = line.replace(word, "")
            lines.append(line.strip())
        return sorted(lines)

    def connect(self, address, port, timeout=5):
        """A connected TCP socket, or the OSError that the kernel gave."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with self.entered():
            connection = socket.socket(family, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        # Head and body of a request are written one by one, and shall not wait for each other.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection.connect((address, port))
        except OSError:
            connection.close()
            raise
        return connection

    def fetch(self, address, port=80, path="/", timeout=5):
        """The page that a web server gives; a status other than 200 is a ValueError."""
        with self.connect(address, port, timeout) as connection:
            host = f"[{address}]" if ":" in address else address
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        head, _, body = answer.decode().partition("\r\n\r\n")
        if " 200 " not in head.split("\r\n", 1)[0]:
            raise ValueError(f"{address}:{port}{path}: {head}")
        return body

    def refusal(self, address, port=80, timeout=10):
        """The errno with which a TCP connection is refused; ETIMEDOUT without an answer; None
        if it is not refused.

        An answer that comes while the kernel is still sending the SYN (possible here, where all is
        one machine) takes effect only with the next SYN, a second later.
        """
        try:
            self.connect(address, port, timeout).close()
        except TimeoutError:
            return errno.ETIMEDOUT
        except OSError as error:
            return error.errno
        return None

    def ping(self, address, size=56, timeout=2):
        """Asks for one echo of so many bytes; true if it comes back whole."""
        six = ":" in address
        with self.entered():
            raw = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW,
                                socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP)
        data = os.urandom(size)
        number = struct.pack("!HH", os.getpid() & 0xFFFF, 1)
        deadline = time.monotonic() + timeout  # others' answers come to this socket, too
        with raw:
            raw.settimeout(timeout)
            raw.connect((address, 0))
            head = bytes([128 if six else 8, 0])
            check = b"\0\0" if six else inverted_sum(head + b"\0\0" + number + data)
            raw.send(head + check + number + data)
            try:
                while time.monotonic() < deadline:
                    found = raw.recv(65536)[0 if six else 20:]
                    if found[0] == (129 if six else 0) and found[4:] == number + data:
                        return True
            except TimeoutError:
                pass
        return False

    def icmp_error(self, address, port=9, timeout=5):
        """The errno of the ICMP error that answers a UDP datagram, sent once a second since neither it nor the error
        is promised to arrive; None if none comes."""
        six = ":" in address
        with self.entered():
            probe = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
        with probe:
            # Without these only "port unreachable" would be reported.
            probe.setsockopt(*((socket.IPPROTO_IPV6, 25) if six else (socket.IPPROTO_IP, 11)), 1)
            probe.settimeout(1)
            try:
                probe.connect((address, port))
            except OSError as error:
                return error.errno
            for _ in range(timeout):
                try:
                    probe.send(b"?")
                    probe.recv(1)
                    return None
                except TimeoutError:
                    continue
                except OSError as error:
                    return error.errno
        return None
