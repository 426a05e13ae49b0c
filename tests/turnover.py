# SPDX-License-Identifier: Apache-2.0
"""Pods that come and go at random while agentd is killed and restarted: for tests/cni and the soak.

Sandboxes are as many as there are addresses, so that one that leaks is missed: in the end every sandbox
has to get one. A few threads have some sandboxes each and run the plugin as a runtime does: ADD, once
or twice, CHECK, DEL with and without the namespace and beside an ADD that runs, and GC, for which all
stand still, after sandboxes that nobody has deleted. The plugin is killed at any moment, too, namespaces go
without a DEL, and some have an interface of the name already. Who has which address is written down before and
after each call; what agentd gives to a second one meanwhile is a violation.
"""

import json
import os
import random
import subprocess
import threading
from collections import Counter

from lab import objects, wait, wait_equal
from lab.agent import build_folder
from lab.namespace import Namespace

ADDRESSES = 16
BLOCK4, BLOCK6 = "10.224.1.0/28", "fd00:224::100/124"
WORKERS = 5
TRY_AGAIN = 11  # the plugin's error where agentd is away
KERNEL_REFUSED = 101
KILLED_WITHIN_S = 0.04  # about as long as an ADD takes
COLLECT_EVERY = 60  # operations


def start(lab, **settings):
    """A node that has one block, and its agent."""
    [node] = lab.nodes
    lab.write("node.yaml", *[item for item in node.objects() if item["kind"] != "AddressBlock"],
              objects.address_block("pods-0", node.role, BLOCK4, BLOCK6))
    return lab.agent(node, pods={"enabled": True}, **settings)


class Sandbox(Namespace):
    """A pod's namespace, with the container of the pod that has it now."""

    def __init__(self, lab, number):
        super().__init__(lab.label, f"box{number}", lab.folder)
        self.number, self.turn = number, 0
        self.state = "free"  # or "held", "lost"
        self.addresses = frozenset()
        self.create(forwarding=False)

    @property
    def container(self):
        return f"box{self.number}-{self.turn}"


class Turnover:
    def __init__(self, lab, agent, seed):
        self.agent, self.node = agent, agent.node
        self.program = str(build_folder() / "agent" / "cni" / "agent-cni")
        self.boxes = [Sandbox(lab, number) for number in range(ADDRESSES)]
        self.chance = random.Random(seed)
        self.holders, self.lock = {}, threading.Lock()
        self.violations, self.done = [], Counter()
        self.left = 0
        self.room = threading.Condition()
        self.busy, self.waits = 0, False  # workers that are at work; whether a GC waits for them
        self.ended = threading.Event()

    # The plugin

    def begin(self, command, box, **config):
        environment = {
            **os.environ, "CNI_COMMAND": command, "CNI_CONTAINERID": box.container, "CNI_IFNAME": "eth0",
            "CNI_NETNS": f"/run/netns/{box.name}", "CNI_PATH": "/opt/cni/bin",
            "CNI_ARGS": f"K8S_POD_NAMESPACE=default;K8S_POD_NAME={box.container};K8S_POD_UID=u-{box.container}"}
        with self.node.entered():
            process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, env=environment)
        process.stdin.write(json.dumps({"cniVersion": "1.1.0", "name": "pods", "type": "agent-cni",
                                        "socket": str(self.agent.socket), **config}))
        process.stdin.close()
        process.stdin = None
        return process

    def end(self, command, process):
        """(error code, document)."""
        output, _ = process.communicate(timeout=120)
        answer = json.loads(output) if output else {}
        code = answer.get("code", process.returncode) if process.returncode else 0
        with self.lock:
            self.done[f"{command} {code}" if code else command] += 1
        return code, answer

    def call(self, command, box, **config):
        return self.end(command, self.begin(command, box, **config))

    def violated(self, *words):
        with self.lock:
            self.violations.append(" ".join(map(str, words)))

    # What a runtime does

    def add(self, box):
        code, answer = self.call("ADD", box)
        if code:
            if code != TRY_AGAIN:
                self.violated("ADD of", box.container, "failed:", answer)
            return self.delete(box)
        given = frozenset(ip["address"] for ip in answer["ips"])
        with self.lock:
            for address in given:
                holder = self.holders.setdefault(address, box)
                if holder is not box:
                    self.violations.append(f"{address} is {holder.container}'s, given to {box.container}")
            if len(given) != 2 or (box.addresses and box.addresses != given):
                self.violations.append(f"{box.container} had {set(box.addresses)} and got {set(given)}")
        box.state, box.addresses = "held", given

    def forget(self, box):
        with self.lock:
            for address in box.addresses:
                self.holders.pop(address, None)
        box.addresses = frozenset()

    def delete(self, box):
        """Until it is done, as a runtime does; agentd may be ending just now."""
        self.forget(box)
        wait(lambda: self.deleted(box), f"DEL of {box.container} to succeed")
        box.state, box.turn = "free", box.turn + 1

    def deleted(self, box):
        code, answer = self.call("DEL", box)
        if code not in (0, TRY_AGAIN):
            self.violated("DEL of", box.container, "failed:", answer)
        return code != TRY_AGAIN

    def delete_twice(self, box):
        self.forget(box)
        self.call("DEL", box)
        self.delete(box)

    def delete_without_namespace(self, box):
        self.forget(box)
        box.remove_name()
        self.delete(box)
        box.create(forwarding=False)

    def check(self, box):
        code, answer = self.call("CHECK", box, prevResult={
            "cniVersion": "1.1.0", "interfaces": [], "ips": [{"address": a} for a in box.addresses]})
        if code not in (0, TRY_AGAIN):
            self.violated("CHECK of", box.container, "failed:", answer)

    def lose(self, box):
        """The runtime forgets it."""
        box.state = "lost"

    def delete_while_adding(self, box):
        adding = self.begin("ADD", box)
        deleting = self.begin("DEL", box)
        self.end("ADD", adding)
        self.end("DEL", deleting)
        self.delete(box)

    def kill(self, command, box, chance):
        """The plugin, at any moment."""
        process = self.begin(command, box)
        self.ended.wait(chance.uniform(0, KILLED_WITHIN_S))
        process.kill()
        process.communicate()
        with self.lock:
            self.done[f"{command} killed"] += 1

    def kill_adding(self, box, chance):
        """The runtime deletes it then, or asks once more."""
        self.kill("ADD", box, chance)
        chance.choice((self.add, self.delete))(box)

    def kill_deleting(self, box, chance):
        self.forget(box)
        self.kill("DEL", box, chance)
        self.delete(box)

    def vanish(self, box):
        """The namespace is gone, and nobody says so."""
        self.forget(box)
        box.remove_name()
        with self.lock:
            self.done["vanished"] += 1
        box.state, box.turn = "free", box.turn + 1
        box.create(forwarding=False)

    def add_beside_another(self, box):
        """An interface of the name is there already."""
        box.ip("link", "add", "eth0", "type", "bridge")
        code, answer = self.call("ADD", box)
        if code not in (KERNEL_REFUSED, TRY_AGAIN):
            self.violated("ADD of", box.container, "beside another:", code, answer)
        box.ip("link", "del", "eth0")
        self.delete(box)

    def step(self, box, chance):
        if box.state == "free":
            step = chance.choices((self.add, self.delete_while_adding, self.delete, self.kill_adding,
                                   self.add_beside_another), (16, 2, 1, 3, 1))[0]
        elif box.state == "held":
            step = chance.choices((self.delete, self.delete_twice, self.delete_without_namespace, self.check, self.add,
                                   self.lose, self.kill_deleting, self.vanish), (16, 2, 2, 6, 3, 2, 2, 2))[0]
        else:
            return
        step(box, chance) if step in (self.kill_adding, self.kill_deleting) else step(box)

    def collect(self):
        """GC, by the list of what is alive; while nothing else is done."""
        living = [{"containerID": box.container, "ifname": "eth0"} for box in self.boxes if box.state == "held"]
        lost = [box for box in self.boxes if box.state == "lost"]
        for box in lost:
            self.forget(box)
        code, answer = self.call("GC", self.boxes[0], **{"cni.dev/valid-attachments": living})
        if code not in (0, TRY_AGAIN):
            self.violated("GC failed:", answer)
        for box in lost:
            if code:
                self.delete(box)  # agentd was away: then as a runtime that has found it after all
            box.state, box.turn = "free", box.turn + 1

    # All at once

    def take(self):
        """The right to one more operation; "collect" for a GC, alone; None at the end."""
        with self.room:
            self.room.wait_for(lambda: not self.waits)
            if self.left == 0:
                return None
            self.left -= 1
            if self.left % COLLECT_EVERY == 0:
                self.waits = True
                self.room.wait_for(lambda: self.busy == 0)
                return "collect"
            self.busy += 1
            return "step"

    def give_back(self, turn):
        with self.room:
            if turn == "collect":
                self.waits = False
            else:
                self.busy -= 1
            self.room.notify_all()

    def work(self, boxes, seed):
        chance = random.Random(seed)
        while turn := self.take():
            try:
                if turn == "collect":
                    self.collect()
                else:
                    self.step(chance.choice(boxes), chance)
            except Exception as error:  # what a thread raises nobody sees
                self.violated("the test broke:", repr(error))
            finally:
                self.give_back(turn)

    def trouble(self):
        """agentd ends in all manners, at any moment, also while it starts."""
        while not self.ended.wait(self.chance.uniform(0.05, 1.5)):
            self.chance.choice((self.agent.kill, self.agent.kill, self.agent.stop))()
            self.done["restart"] += 1
            if self.chance.random() < 0.3:
                self.agent.start(ready=False)
                self.ended.wait(self.chance.uniform(0, 0.2))
                self.agent.kill()
            self.ended.wait(self.chance.choice((0, 0, 0.3)))
            self.agent.start()

    def run(self, operations, trouble=True):
        """`trouble`: agentd is killed meanwhile."""
        self.left = operations
        workers = [threading.Thread(target=self.work, args=(self.boxes[number::WORKERS], self.chance.random()))
                   for number in range(WORKERS)]
        troubles = [threading.Thread(target=self.trouble)] if trouble else []
        for thread in (*workers, *troubles):
            thread.start()
        for thread in workers:
            thread.join()
        self.ended.set()
        for thread in troubles:
            thread.join()
        self.ended.clear()

    def links(self):
        return [link["ifname"] for link in self.node.ip_json("link") if link.get("ifalias", "").startswith("COIL:")]

    def routes(self):
        return [route["dst"] for family in (4, 6) for route in self.node.ip_json(
            f"-{family}", "route", "show", "proto", "30", "table", "main")]

    def finish(self):
        """All go, and nothing is left; then all come, and each gets an address."""
        for box in self.boxes:
            self.delete(box)
        wait_equal(lambda: (self.links(), self.routes()), ([], []), "the end of links and routes")
        for box in self.boxes:
            self.add(box)
        if (count := len(self.holders)) != 2 * ADDRESSES:
            self.violated("of", 2 * ADDRESSES, "addresses", count, "could be had")
        for box in self.boxes:
            self.delete(box)
        # Of a namespace that went without a DEL it is said that its pod is cut off.
        if faults := [fault for fault in self.agent.faults()
                      if fault["subsystem"] == "pods" and "is cut off" not in fault["message"]]:
            self.violated("faults:", faults)
