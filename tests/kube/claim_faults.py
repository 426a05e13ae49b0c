# SPDX-License-Identifier: Apache-2.0
"""What becomes of a node that has addresses of a segment, of the API, or of the store behind it, drawn at random; and
what is seen of the addresses meanwhile. Each run is one fault, from all being well to all being well again."""

import random
import signal
import time
from collections import defaultdict, namedtuple

from claim_history import History, story, timed
from lab import wait
from lab.agent import program
from lab.control_plane import ADDRESS4
from lab.holders import holder_of
from lab.kube_api import wall_time
from lab.lifetimes import set_lifetime
from lab.segment import Asker, Served
from lab.wall_clock import BootClock
from test_claimed import DURATION, NAMES, Setting

ADDRESSES = ("198.51.100.50", "198.51.100.51", "198.51.100.52", "198.51.100.53", "2001:db8:5::50", "2001:db8:5::51")
MARGIN = 0.25  # late_ms of agent/plan/claims/lease_state.c: so much longer than the duration others wait
OWN = 0.3  # after duration and margin: to write, to probe, to say so
RESUMED = DURATION / 3 + 1  # who was frozen may answer for so long, until his next renewal is refused
UNDUE = 0.6  # a silence of what no fault was about; less is this machine's own
TOLD = 1  # of a longer one it is told what Leases were and agents said

QUICK = {"drain": {"shutdown": "100ms", "withdraw": "100ms"}}

Run = namedtuple("Run", "fault node seconds begin end gaps undue own")


def killed(siege, name):
    siege.agents[name].kill()
    yield siege.chance.uniform(0, siege.some)
    siege.agents[name].start()


def power(siege, name):
    """The node is off, and starts with nothing."""
    siege.agents[name].kill()
    siege.segment.cable(siege.node(name), "down")
    yield siege.chance.uniform(0, siege.some)
    siege.forget(name)
    siege.segment.cable(siege.node(name), "up")
    siege.agents[name].start()


def stopped(siege, name):
    siege.agents[name].process.send_signal(signal.SIGSTOP)
    yield siege.chance.uniform(1, siege.longest)
    siege.agents[name].process.send_signal(signal.SIGCONT)


def no_api(siege, _):
    siege.plane.api_server.process.send_signal(signal.SIGSTOP)
    yield siege.chance.uniform(1, siege.some)
    siege.plane.api_server.process.send_signal(signal.SIGCONT)


def no_api_for_one(siege, name):
    siege.node(name).configure(f"route add blackhole {ADDRESS4}/32")
    yield siege.chance.uniform(1, siege.some)
    siege.node(name).configure(f"route del blackhole {ADDRESS4}/32")


def unplugged(siege, name):
    siege.segment.cable(siege.node(name), "down")
    yield siege.chance.uniform(0.5, siege.some)
    siege.segment.cable(siege.node(name), "up")


def reboot(siege, name):
    """In order: drained, stopped, and started with nothing."""
    agent = siege.agents[name]
    siege.node(name).run(program("agentctl"), "--socket", str(agent.socket), "drain")
    agent.stop()
    siege.forget(name)
    yield siege.chance.uniform(0, 3)
    agent.start()
    siege.node(name).run(program("agentctl"), "--socket", str(agent.socket), "undrain")


def clock(siege, name):
    """CLOCK_BOOTTIME jumps, and nothing else has happened."""
    siege.clocks[name].jump(siege.chance.uniform(1, 60))
    yield 2


def frozen(siege, name, asleep=False):
    """By a hypervisor: programs, kernel and network stand still, and so do both clocks; or the machine slept."""
    node, chance = siege.node(name), siege.chance
    siege.segment.mute(node)
    siege.lab.tor.configure(f"route add blackhole {node.address4}/32")
    siege.agents[name].process.send_signal(signal.SIGSTOP)
    left = siege.keep(name)
    length = chance.uniform(1, siege.longest / 2)
    yield length
    siege.clocks[name].jump(length if asleep else -length)
    siege.keep(name, left)
    siege.lab.tor.configure(f"route del blackhole {node.address4}/32")
    heard = time.monotonic()  # the kernel answers before the agent goes on
    siege.segment.mute(node, False)
    siege.agents[name].process.send_signal(signal.SIGCONT)
    siege.resumed[name].append((heard, time.monotonic()))


def suspended(siege, name):
    yield from frozen(siege, name, asleep=True)


def restored(siege, _):
    """The store is as it was the first time."""
    if not (siege.plane.folder / "claims").exists():
        siege.plane.backup("claims")
        siege.steady()
    siege.plane.restore("claims")
    yield 0


# What it is, whether it is about all nodes, and for how long addresses may be away then; None: as long as the store
# is, and a second.
Fault = namedtuple("Fault", "make all most")
LOST = DURATION + 1
FAULTS = {
    "killed": Fault(killed, False, LOST),
    "power": Fault(power, False, LOST),
    "stopped": Fault(stopped, False, LOST),
    "no API": Fault(no_api, True, None),
    "no API for one": Fault(no_api_for_one, False, LOST),
    "unplugged": Fault(unplugged, False, 1),
    "reboot": Fault(reboot, False, 0.2),
    "clock": Fault(clock, False, LOST),
    "frozen": Fault(frozen, False, LOST),
    "suspended": Fault(suspended, False, LOST),
    "restored": Fault(restored, True, LOST),
}


class Siege(Setting):
    """Three nodes with several addresses, asked for all the time."""

    def __init__(self, lab, seed, longest=60):
        """`longest`: seconds that an agent may be stopped; all else lasts a fifth of that at most."""
        super().__init__(lab)
        self.chance, self.longest, self.some = random.Random(seed), longest, longest / 5
        self.clocks = {node.role: BootClock(node) for node in lab.nodes}
        self.resumed = defaultdict(list)
        lab.plane.controllers.stop()  # what the lab plays of kubelets never says again that a Node is Ready
        self.runs = []
        self.put(*ADDRESSES)
        self.begin()
        self.asker, self.served = Asker(self.segment, ADDRESSES), Served(self.segment, ADDRESSES)
        self.history = History(self.plane.api)
        self.steady()

    def start(self, node, **settings):
        agent = super().start(node, start=False, **settings, routes=QUICK)
        agent.wrapper = ("env", *[f"{key}={value}" for key, value in self.clocks[node.role].environment.items()])
        return agent.start()

    def end(self):
        for worker in (self.served, self.asker, self.history):
            worker.close()
        super().end()

    # Nodes

    def kept(self, name):
        """The rest of the lifetime of each claimed address of a node, in seconds."""
        return {info["local"]: info["valid_life_time"] for link in self.node(name).ip_json("addr", "show", "dev", "lan")
                for info in link["addr_info"] if info["local"] in ADDRESSES}

    def keep(self, name, lifetimes=None):
        """The kernel's own clock stands still: no lifetime ends. Or it goes on with these."""
        left = self.kept(name) if lifetimes is None else lifetimes
        for address in left:
            set_lifetime(self.node(name), "lan", address, *[lifetimes[address]] if lifetimes else [])
        return left

    def forget(self, name):
        """A kernel that has just started has no address but its own."""
        for address in self.kept(name):
            self.node(name).ip("addr", "del", f"{address}/{128 if ':' in address else 32}", "dev", "lan")

    # Runs

    def is_well(self):
        rows = {name: self.agents[name].json("addresses")["items"] for name in NAMES}
        now = time.monotonic()
        for address, answers in self.served.answers.items():
            assert holder_of(address, self.judge.now(address), rows), (address, self.judge.now(address), rows)
            assert now - answers.times[-1] < 0.1, address
        for items in rows.values():
            assert len(items) == len(ADDRESSES)
            assert {row["why"] for row in items} <= {None, "another node has it"}, items
        return True

    def steady(self):
        """Until each address is served by one node, and each node could have it."""
        wait(self.is_well, "each address at one node, and all nodes well", 60)

    def run(self, fault=None):
        fault = fault or self.chance.choice(list(FAULTS))
        # By the records: all is well, and whom one saw last may have been one that woke up.
        holders = {address: self.lease(address)["holderIdentity"] for address in ADDRESSES}
        name = holders[self.chance.choice(ADDRESSES)]
        concerned = [address for address in ADDRESSES if FAULTS[fault].all or holders[address] == name]
        begin = time.monotonic()
        steps = FAULTS[fault].make(self, name)
        length = next(steps)
        claimed = self.claimed(concerned) if FAULTS[fault].most == LOST and not FAULTS[fault].all else {}
        time.sleep(max(begin + length - time.monotonic(), 0))
        healed = time.monotonic()
        next(steps, None)
        ended = time.monotonic() if fault == "restored" else healed
        self.steady()
        self.runs.append(self.seen(fault, name, begin, ended, concerned, claimed))
        if max(self.runs[-1].undue.values(), default=0) > TOLD or self.doubles()[0]:
            print(self.story(begin), flush=True)
        return self.runs[-1]

    def story(self, begin):
        """What led to it, where each address was seen included."""
        ahead = time.time() - time.monotonic()
        seen = "\n".join(f"{address}: {[(s.name, timed(s.first + ahead), timed(s.last + ahead)) for s in last]}"
                         for address, sightings in self.judge.sightings.items()
                         if (last := [s for s in sightings.stretches() if s.last > begin - 1]))
        return f"{story(self.history, self.agents.values(), begin + ahead)}\n{seen}"

    def claimed(self, addresses):
        """When each claim was renewed last, by the monotonic clock: nobody renews it any more."""
        ahead = time.monotonic() - time.time()
        return {address: renewed_at(self.lease(address)) + ahead for address in addresses}

    def seen(self, fault, name, begin, ended, concerned, claimed):
        """What came of it."""
        now = min(answers.times[-1] for answers in self.served.answers.values())
        longest = {address: answers.longest(begin, now)
                   for address, answers in self.served.answers.items()}
        seconds = {address: round(gap.end - gap.begin, 3) for address, gap in longest.items()}
        own = {address: round(longest[address].end - renewed - DURATION - MARGIN, 3)
               for address, renewed in claimed.items() if longest[address].end > renewed + DURATION}
        gaps = {address: seconds[address] for address in concerned}
        if FAULTS[fault].all:  # of the time without the store nothing is this part's
            gaps = {address: round(max(longest[address].end - ended, 0), 3) for address in concerned}
        return Run(fault, name, round(ended - begin, 2), begin, time.monotonic(), gaps,
                   {address: gap for address, gap in seconds.items()
                    if address not in concerned and gap > UNDUE}, own)

    # The sentence

    def doubles(self):
        """Two at once, but for who was frozen or suspended and woke up a moment ago; and how long those lasted."""
        wrong, excused = [], []
        for double in self.judge.doubles():
            woken = [at for name in double.names for heard, at in self.resumed[name]
                     if heard <= double.begin and double.begin + double.seconds <= at + RESUMED]
            (excused if woken else wrong).append(double)
        return wrong, excused

    def over(self, slack=0):
        """Runs after which an address was away for longer than it may."""
        return [run for run in self.runs if max(run.gaps.values(), default=0) > (FAULTS[run.fault].most or 1) + slack]


def renewed_at(lease):
    """Seconds since 1970."""
    return wall_time(lease["renewTime"])


def figures(runs):
    """By fault: how many there were, and the median and the most of what addresses were away."""
    table = {}
    for fault in FAULTS:
        gaps = sorted(gap for run in runs if run.fault == fault for gap in run.gaps.values())
        own = sorted(value for run in runs if run.fault == fault for value in run.own.values())
        if not gaps:
            continue
        table[fault] = {"runs": len([run for run in runs if run.fault == fault]), "addresses": len(gaps),
                        "median": gaps[len(gaps) // 2], "p90": gaps[len(gaps) * 9 // 10], "most": gaps[-1],
                        "bar": FAULTS[fault].most or 1}
        if own:
            table[fault] |= {"ownMedian": own[len(own) // 2], "ownP90": own[len(own) * 9 // 10], "ownMost": own[-1],
                             "ownBar": OWN}
    return table
