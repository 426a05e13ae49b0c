# SPDX-License-Identifier: Apache-2.0
"""Traffic: servers that say whom they see, clients that ask once, and clients that never stop.

The programs are echo.c, load.c and flood.c, compiled when they are first needed: they know nothing
of the build under test and must not be slowed by its sanitizers.
"""

import errno
import functools
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
from collections import namedtuple
from pathlib import Path

from .agent import build_folder
from .wait import wait

HERE = Path(__file__).parent
COMPILE = ("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread")

# What a server says of a connection or datagram: who it is, whom it sees, to which of its addresses.
Answer = namedtuple("Answer", "name peer port local local_port")


def tool(name, static=False):
    """A program of this folder; labs that need it at the same moment do not meet. `static`: for an
    image that holds nothing else."""
    source, program = HERE / f"{name}.c", build_folder() / "lab" / f"{name}{'-static' * static}"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=program.parent, delete=False) as draft:
            pass
        subprocess.run([*COMPILE, *["-static"] * static, str(source), "-o", draft.name], check=True)
        os.replace(draft.name, program)
    return str(program)


def serve(host, *ports, name=None):
    """Starts echo.c on a host: TCP and UDP, both families, or SCTP ("sctp:8080"). It is called after
    the host."""
    log = f"echo-{'-'.join(map(str, ports))}-{len(host.processes)}.log"
    process = host.start(tool("echo"), name or host.role, *map(str, ports), log=log)

    def up():
        said = (host.folder / log).read_text()
        if process.poll() is not None:
            raise RuntimeError(f"the server of {host} ended: {said}")
        return "up" in said

    wait(up, f"the server of {host}")
    return process


def parse(line):
    words = line.split()
    return Answer(words[0], words[1], int(words[2]), words[3], int(words[4]))


IP_RECVERR = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (socket.IPPROTO_IPV6, 25)}


def open_socket(host, address, kind=socket.SOCK_STREAM, source_port=0, source="", timeout=5,
                protocol=0):
    """A socket of the host, of the address's family. `source_port`: may be in use elsewhere."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with host.entered():
        sock = socket.socket(family, kind, protocol)
    sock.settimeout(timeout)
    if protocol == socket.IPPROTO_SCTP:
        # Errors of ICMP end it, and the server offers no address of the other family.
        sock.setsockopt(*IP_RECVERR[family], 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if source_port or source:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((source, source_port))
    return sock


class Connection:
    """A TCP connection to echo.c, or an association of SCTP."""

    def __init__(self, host, address, port, source_port=0, source="", timeout=5, protocol=0):
        self.socket = open_socket(host, address, source_port=source_port, source=source,
                                  timeout=timeout, protocol=protocol)
        try:
            self.socket.connect((address, port))
        except OSError:
            self.socket.close()
            raise
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def reset(self):
        """Ends it by a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close()

    def name(self):
        return self.socket.getsockname()[:2]

    def sent_again(self):
        """How many segments its kernel has sent twice, by TCP_INFO's tcpi_total_retrans."""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        return struct.unpack_from("I", info, 100)[0]

    def line(self, question):
        self.socket.sendall(question.encode() + b"\n")
        answer = self.file.readline().decode()
        if not answer:
            raise ConnectionResetError(errno.ECONNRESET, "the server closed the connection")
        return answer

    def who(self):
        return parse(self.line("who"))

    def get(self, length):
        """So many bytes from the server; true if they are the right ones."""
        self.socket.sendall(f"get {length}\n".encode())
        return self.file.read(length) == pattern(length)

    def put(self, data):
        """Sends bytes; true if the server says that it got these."""
        self.socket.sendall(f"put {len(data)}\n".encode() + data)
        _, length, value = self.file.readline().decode().split()
        return int(length) == len(data) and value == f"{digest(data):016x}"


@functools.lru_cache(4)
def pattern(length):
    """What echo.c's "get" answers."""
    return bytes(((at * 2654435761 & 0xFFFFFFFFFFFFFFFF) >> 13) & 255 for at in range(length))


@functools.lru_cache(4)
def digest(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


UDP_SEGMENT = 103  # linux/udp.h
STREAMS = {"TCP": 0, "SCTP": socket.IPPROTO_SCTP}


def ask(host, address, port, protocol="TCP", source_port=0, source="", timeout=5):
    """Asks a server once, over a connection or datagram of its own: an Answer, or the OSError."""
    if protocol in STREAMS:
        with Connection(host, address, port, source_port, source, timeout,
                        STREAMS[protocol]) as connection:
            return connection.who()
    with Datagrams(host, address, port, source_port, source, timeout) as datagrams:
        return datagrams.who()


class Datagrams:
    """A connected UDP socket to echo.c. Lost datagrams stay lost: nothing is sent twice."""

    def __init__(self, host, address, port, source_port=0, source="", timeout=5):
        self.socket = open_socket(host, address, socket.SOCK_DGRAM, source_port, source, timeout)
        self.socket.connect((address, port))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def name(self):
        return self.socket.getsockname()[:2]

    def exchange(self, data):
        self.socket.send(data)
        return self.socket.recv(65536)

    def who(self):
        return parse(self.exchange(b"who").decode())

    def put(self, data):
        """Sends one datagram; true if it came through as it was."""
        words = self.exchange(data).decode().split()
        return int(words[5]) == len(data) and words[6] == f"{digest(data):016x}"

    def put_many(self, data, count):
        """Sends datagrams that the kernel cuts from one buffer (UDP_SEGMENT), as senders of QUIC do.
        How many came through as they were."""
        self.socket.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, len(data))
        self.socket.send(data * count)
        self.socket.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
        came = 0
        try:
            while came < count:
                words = self.socket.recv(65536).decode().split()
                came += int(words[5]) == len(data) and words[6] == f"{digest(data):016x}"
        except TimeoutError:
            pass
        return came

    def get(self, length):
        return self.exchange(f"get {length}".encode()) == pattern(length)


def outcome(host, address, port, protocol="TCP", timeout=5, **source):
    """What becomes of a client: "forward", "reject" (ECONNREFUSED) or "drop" (no answer)."""
    try:
        ask(host, address, port, protocol, timeout=timeout, **source)
    except ConnectionRefusedError:
        return "reject"
    except TimeoutError:
        return "drop"
    except OSError as error:
        return errno.errorcode[error.errno]
    return "forward"


def answers(host, address, port, protocol="TCP", times=40, **source):
    """The set of servers that answer clients which come one after the other."""
    return {ask(host, address, port, protocol, **source).name for _ in range(times)}


def wait_outcome(expected, host, address, port, protocol="TCP"):
    """Waits until clients fare so. A drop takes as long as it is waited for."""
    wait(lambda: outcome(host, address, port, protocol, timeout=1) == expected,
         f"{address}:{port}/{protocol} from {host} to {expected}")


def wait_answers(loads, number, timeout=60):
    """Waits until so many more answers have come to each of the loads."""
    wanted = [(load, load.now()["done"] + number) for load in loads]
    for load, done in wanted:
        wait(lambda load=load, done=done: load.now()["done"] >= done, f"{number} answers to {load.what}",
             timeout)


class Load:
    """A running load.c: `with Load(host, "short", address, port, c=4) as load`. At the end of the
    block it is stopped, and `load.result` is what it saw in all."""

    def __init__(self, host, kind, address, port, **options):
        words = [word for key, value in options.items() for word in (f"-{key}", str(value))]
        self.log = host.folder / f"load-{len(host.processes)}.json"
        self.what = f"{kind} clients of {address}:{port} on {host}"
        self.process = host.start(tool("load"), kind, address, str(port), *words, log=self.log.name)
        self.result = None

    def now(self):
        """The last whole line that it said."""
        lines = self.log.read_text().split("\n")
        return json.loads(lines[-2]) if len(lines) > 1 else {"done": 0, "errors": {}, "names": {}}

    def more(self, number=200, timeout=60):
        """Waits until so many more answers have come."""
        wait_answers([self], number, timeout)

    def stop(self):
        if self.result is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
            self.result = self.now()
        return self.result

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def unhurt(self):
        """Fails unless everything was answered, by the right one, and nothing sent twice."""
        result = self.stop()
        assert result["end"] and result["done"], (self.what, result)
        assert (result["errors"], result["waits"]) == ({}, {}), (self.what, result)
        return result

    def unbroken(self):
        """Fails if anything was refused, reset or unanswered. What the kernel had to send twice,
        because a link was down, may be late."""
        result = self.stop()
        assert result["end"] and result["done"], (self.what, result)
        assert result["errors"] == {}, (self.what, result)
        return result

