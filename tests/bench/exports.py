# SPDX-License-Identifier: Apache-2.0
"""Exports to a real Consul: 5,000 Services of three ports from nothing, then changes of one, then none."""

import json
import sys
import tempfile
import time
from pathlib import Path

from lab import wait

from . import process

sys.path.append(str(Path(__file__).resolve().parents[1] / "consul"))

from consul import Consul  # noqa: E402
from controller import PREFIX, Controller, key_of, service  # noqa: E402
from kube import Kube  # noqa: E402
from way import Way  # noqa: E402

SERVICES, PORTS, CHANGES = 5000, 3, 5
RENEWALS = 3  # for as many is it looked at what is asked while nothing changes


def ports_of(i, first=30000):
    return [(f"p{port}", 80 + port, first + (i * PORTS + port) % 2768) for port in range(PORTS)]


def change(consul, kube, port):
    """Seconds until another port of one Service stands in KV. What was written before has been read
    again by then."""
    time.sleep(1)
    key = key_of("s7", "p0")
    began = time.monotonic()
    kube.put(service("s7", ports=[("p0", 80, port), *ports_of(7)[1:]]))
    wait(lambda: json.loads(consul.ask("GET", f"/v1/kv/{key}?raw"))["port"] == port, "the change")
    return time.monotonic() - began


def renewals(way):
    return sum("/v1/session/renew/" in words for words in way.asked)


def requests_without_change(folder, consul, kube, settings):
    """What a controller that has found all as planned asks of Consul then, but for renewals of its session."""
    way = Way(consul)
    controller = Controller(folder / "quiet", kube, {**settings, "address": way.address})
    try:
        wait(lambda: renewals(way) and any("index=" in words for words in way.asked), "the blocking query", timeout=60)
        before, asked = renewals(way), len(way.asked)
        wait(lambda: renewals(way) == before + RENEWALS, "renewals", timeout=60)
        return len(way.asked) - asked - RENEWALS
    finally:
        controller.stop()
        way.close()


def export_all(folder, consul, kube):
    token = folder / "token"
    token.write_text(consul.token()[1], encoding="ascii")
    settings = {
        "clusterID": "transformers", "address": consul.address, "tokenFile": str(token),
        "caFile": str(consul.pki.certificate), "certFile": str(consul.client_pair.certificate),
        "keyFile": str(consul.client_pair.key), "sessionTTL": "10s"}
    kube.put(*[service(f"s{i}", ports=ports_of(i)) for i in range(SERVICES)])
    began = time.monotonic()
    controller = Controller(folder / "c", kube, settings)
    try:
        wait(lambda: len(consul.json("GET", f"/v1/kv/{PREFIX}/services/?keys"))
             == SERVICES * PORTS, "every document", timeout=120)
        figures = {"exports": [time.monotonic() - began],
                   "exports-change": [change(consul, kube, 31000 + turn) for turn in range(CHANGES)],
                   "exports-peak": [process.peak(controller.process.pid)]}
    finally:
        controller.stop()
    return {**figures, "exports-quiet": [requests_without_change(folder, consul, kube, settings)]}


def exports():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        consul, kube = Consul(folder / "consul"), Kube(folder)
        try:
            return export_all(folder, consul, kube)
        finally:
            consul.close()
            kube.stop()
