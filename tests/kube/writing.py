# SPDX-License-Identifier: Apache-2.0
"""writer.c in a host of the lab: what is to be written goes in by lines, outcomes come out."""

import json
import subprocess
import threading
from collections import namedtuple

from lab import wait
from lab.agent import SANITIZERS, build_folder
from lab.kube_api import PATHS

FIELDS = ("key", "verb", "group", "version", "plural", "namespace", "name", "subresource", "uid",
          "resource_version", "manager", "flags")
LOST = ("later", "uncertain")  # the writer goes on by itself

Told = namedtuple("Told", "key outcome tries news status uid version why")


def target(kind, name, namespace="default"):
    """The fields of a write that say where the object is."""
    prefix, plural, namespaced = PATHS[kind]
    group, _, version = prefix.removeprefix("/apis/").removeprefix("/api/").rpartition("/")
    return {"group": group, "version": version, "plural": plural, "name": name,
            "namespace": namespace if namespaced else ""}


class Writer:
    """Ends with its `with` block, when all is written."""

    def __init__(self, host, kubeconfig, answer_ms=3000, per_second=0):
        command = [str(build_folder() / "tests" / "kube" / "writer"), str(kubeconfig),
                   str(answer_ms), str(per_second)]
        self.log = host.folder / f"writer-{len(host.processes)}.log"
        with host.entered(), open(self.log, "wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env={**host.environment, **SANITIZERS}, start_new_session=True)
        host.processes.append(self.process)
        self.told = []
        self.listener = None  # is called with each outcome
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            key, outcome, tries, news, status, uid, version, why = line.rstrip("\n").split("\t", 7)
            told = Told(key, outcome, int(tries), news == "1", int(status), uid, version, why)
            self.told.append(told)
            if self.listener:
                self.listener(told)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
        self.process.stdin.close()
        code = self.process.wait(120)
        self.reader.join()
        self.process.stdout.close()
        if not kind:
            assert code == 0, self.log.read_text(encoding="utf-8")

    def ask(self, key, verb, where, body=None, **more):
        """One line; `more`: subresource, uid, resource_version, manager, flags."""
        fields = {"key": key, "verb": verb, **where, **more}
        words = [fields.get(name) or "" for name in FIELDS]
        text = "" if body is None else json.dumps(body)
        self.process.stdin.write("\t".join([*words, text]) + "\n")
        self.process.stdin.flush()

    def of(self, key):
        """All that was told of a key."""
        return [told for told in list(self.told) if told.key == key]

    def ends(self, key, after=0, timeout=120):
        """Waits for an outcome of a key that is none on the way, and returns it. `after`: of so many
        such outcomes that are known."""
        def ended():
            found = [told for told in self.of(key) if told.outcome not in LOST]
            return found[after:]
        return wait(ended, f"the end of {key}", timeout)[0]
