# SPDX-License-Identifier: Apache-2.0
"""Documents as files of a folder, without any Consul."""

import json

import pytest
from controller import PREFIX, Controller, node, service
from lab import wait, wait_equal

KEY = f"{PREFIX}/services/default-a-http/clusters/transformers"


@pytest.fixture(name="folder")
def folder_fixture(tmp_path):
    return tmp_path / "exports"


@pytest.fixture(name="files")
def files_fixture(kube, tmp_path, folder):
    started = []

    def start():
        started.append(Controller(tmp_path / f"c{len(started)}", kube,
                                  {"clusterID": "transformers", "folder": str(folder)}))
        return started[-1]

    yield start
    assert all(one.stop() in (0, -9) and "Sanitizer" not in one.log() for one in started)


def there(folder):
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in folder.rglob("*.json")}


def test_files_come_change_and_go(kube, files, folder):
    shared = {"load_balancer_service_per_cluster": "false"}
    kube.put(service("a", **shared), node("n1", "10.0.0.1"))
    first = files()
    names = {f"{KEY}.json", f"{PREFIX}/nodes/transformers.json"}
    wait_equal(lambda: set(there(folder)), names, "the files")
    assert json.loads(there(folder)[f"{KEY}.json"])["port"] == 32046
    assert json.loads(there(folder)[f"{PREFIX}/nodes/transformers.json"]) == [
        {"Name": "n1", "Address": "10.0.0.1"}]
    kube.put(service("a", ports=[("http", 80, 31000)], **shared))
    wait(lambda: json.loads(there(folder)[f"{KEY}.json"])["port"] == 31000, "the new port")
    first.kill()
    (folder / "by-hand.json").write_text("{}", encoding="ascii")
    kube.remove("Service", "a")
    files()
    wait_equal(lambda: set(there(folder)), {"by-hand.json", f"{PREFIX}/nodes/transformers.json"},
               "what is left")


def test_no_key_leads_out_of_the_folder(kube, files, folder):
    kube.put(service("a", id_prefix="../../../../out", load_balancer_service_per_cluster="false"),
             service("b", load_balancer_service_per_cluster="false"))
    controller = files()
    wait(lambda: any("default-b" in name for name in there(folder)), "the good one")
    controller.said("a part of the key can't be the name of a file")
    assert not [path for path in folder.parent.rglob("*out*") if path.name.startswith("out")]
