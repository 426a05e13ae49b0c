# SPDX-License-Identifier: Apache-2.0
"""A cluster of 10,000 Services with 10 ingress addresses and one EndpointSlice each, as a file.

Written by filling in one Service and its slice as text: making each anew would take longer than
all that is measured.
"""

import ipaddress
import json

import yaml
from lab import objects

SERVICES = 10_000
ADDRESSES_EACH = 10
FIRST_ADDRESS = int(ipaddress.ip_address("198.18.0.0"))
FIRST_CLUSTER_IP = int(ipaddress.ip_address("10.96.0.0"))
ENDPOINTS_EACH = 10
MARK = "@"  # in no object otherwise


def template():
    addresses = [f"{MARK}ip{i}{MARK}" for i in range(ADDRESSES_EACH)]
    name = f"{MARK}name{MARK}"
    common = {"creationTimestamp": "2026-01-02T03:04:05Z", "resourceVersion": "4711",
              "uid": f"5d2a1f0e-0000-4000-8000-0000000{MARK}number{MARK}"}
    service = objects.service(name, addresses, ports=(80, 443),
                              clusterIP=f"{MARK}cluster{MARK}",
                              clusterIPs=[f"{MARK}cluster{MARK}"], ipFamilies=["IPv4"])
    endpoints = [objects.endpoint(f"10.244.{i}.7", f"node{i + 1}") for i in range(ENDPOINTS_EACH)]
    endpoint_slice = objects.slice_of(name, endpoints, ports=(80, 443))
    service["metadata"] |= common
    endpoint_slice["metadata"] |= common
    return [service, endpoint_slice]


def filled(text):
    """The text for each Service. Split once, it is joined again with what goes in between."""
    pieces = text.split(MARK)
    holes = range(1, len(pieces), 2)
    names = [pieces[i] for i in holes]
    for number in range(SERVICES):
        values = {"name": f"service-{number:05}", "number": f"{number:05}",
                  "cluster": str(ipaddress.ip_address(FIRST_CLUSTER_IP + number + 1))}
        for i in range(ADDRESSES_EACH):
            address = FIRST_ADDRESS + number * ADDRESSES_EACH + i
            values[f"ip{i}"] = str(ipaddress.ip_address(address))
        for i, name in zip(holes, names):
            pieces[i] = values[name]
        yield "".join(pieces)


def write_json(path):
    """As `kubectl get service,endpointslice -o json` prints it."""
    objects_text = ",\n".join(
        "\n".join("        " + row for row in json.dumps(item, indent=4).splitlines())
        for item in template()
    )
    with open(path, "w", encoding="ascii") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for number, text in enumerate(filled(objects_text)):
            file.write((",\n" if number else "") + text)
        file.write('\n    ],\n    "kind": "List",\n    "metadata": {"resourceVersion": ""}\n}\n')


def write_yaml(path):
    documents = "---\n" + "---\n".join(yaml.safe_dump(item) for item in template())
    with open(path, "w", encoding="ascii") as file:
        file.writelines(filled(documents))
