# SPDX-License-Identifier: Apache-2.0
"""A clock that jumps changes nothing but what people read: wall time decides nothing.

Wall time may be written down (a field that ends in _wall_ms, or the time since when a fault holds).
Whoever else asks for it is listed here, with what happens when it jumps.
"""

import re

import pytest
from lab.agent import REPOSITORY

AGENT = REPOSITORY / "agent"

DECISIONS = {
    # Is a file's own time so recent that another write may leave it as it is? Both are wall time.
    # Back: files are read again, in vain. Forward: the writes after the jump have other times.
    "source/manifest_file.c": [".fresh = changed_ns / 1000000 + FRESH_MS > clock_wall_ms(),"],
    # Is a session that BIRD says is down young enough to come up by itself? BIRD tells wall time.
    # Either way, a fault comes ten seconds early or late; an age below zero is not young.
    "bgp/bgp.c": ["const struct detector_facts facts = { .bird = bird, .wall_ms = clock_wall_ms() };"],
    # The difference between BIRD's local time and ours, anew with each poll.
    "client/bird/bird.c": ["int r = bird_poll_take(&client->poll, &client->reply, clock_wall_ms());"],
    # What people read in a Lease; who leads is decided by the time since it was seen to change. At the start: is
    # its holder so old that etcd may have been restored? Forward: no block is given for two minutes. Back: the
    # restore is not noticed, and a node whose block another gets tells of it.
    "controller/elector.c": [
        "if (!status->seen && *record->holder && renewed_ms && clock_wall_ms() - renewed_ms > AGED_MS)",
        "const struct lease_record desired = election_desired(&elector->election, clock_wall_ms());",
        "election_release_again(&elector->election, &now, version, clock_wall_ms(), &record);",
        "if (!election_release(&elector->election, clock_wall_ms(), &record) ||",
    ],
    # What people read in a claim's Lease, by which this agent also knows what it wrote itself. Back: a record of
    # an earlier life with the very same millisecond would be taken for one of this.
    "segment/claim_turn.c": [
        "enum lease_step step = lease_next(&claim->lease, now_ms, clock_wall_ms());",
    ],
    # The time in a condition of a BlockRequest, for people.
    "controller/pods/blocks_write.c": [
        "write_answer(request, entry ? entry->name : NULL, clock_wall_ms(), body);",
    ],
    # For how long has an object been on its way out? Its deletionTimestamp is wall time. Forward: a fault comes
    # early. Back: it comes late, by as much.
    "controller/pods/blocks_job.c": [
        "int64_t left_ms = held_faults(job->job.board->store, all[i], clock_wall_ms(), &faults);",
    ],
    "controller/egress/egress_job.c": [
        "int64_t left_ms = held_faults(job->job.board->store, KIND_EGRESS, clock_wall_ms(), &faults);",
    ],
    # How old is a Node? Its creationTimestamp is wall time. Either way it counts as ready for a while
    # longer or shorter, as with kube-service-exporter.
    "controller/export/export_job.c": [
        "return job->plan.until_wall_ms && clock_wall_ms() >= job->plan.until_wall_ms;",
        "int r = plan_export(job->config, job->job.board->store, clock_wall_ms(), &plan, &faults);",
        "next = MIN(next, now_ms + MAX(job->plan.until_wall_ms - clock_wall_ms(), INT64_C(1)));",
    ],
    "agentctl/plan/plan_export.c": ["r = plan_export(config, store, clock_wall_ms(), &ret->plan, faults);"],
    # How long has a LoadBalancer address rested? The time outlives the program. Forward: it is given
    # to others early. Back: it rests anew, but no longer than ever (plan/pools/rests.h).
    "pools/pool_keeper.c": [".now_ms = clock_wall_ms(),"],
    "controller/pools/address_job.c": [".now_ms = clock_wall_ms(),"],
    # When was an Event written? For people.
    "controller/pools/address_loss.c": ["job->job.board->status->election.identity, clock_wall_ms(), name,"],
    # How long has a pod's address rested, and a block been empty? The time outlives the program.
    # Forward: an address is given early. Back: it rests anew, and gives way where no other is free.
    "engine/pods/pods_engine.c": [
        "next_ms = MIN(next_ms, now_ms + MAX(pods->rested_wall_ms - clock_wall_ms(), 1));",
        "if (clock_wall_ms() >= pods->rested_wall_ms)",
    ],
    "engine/pods/pods_follow.c": ["clock_wall_ms());", "r = pods_memory_settle(pods, clock_wall_ms());"],
    "engine/pods/pods_state.c": [
        "int r = pod_addresses_free(&pods->addresses, &pod_interface, clock_wall_ms());",
    ],
    "engine/pods/pods_want.c": [
        "(void)pod_addresses_free(&pods->addresses, &attachment->pod_interface, clock_wall_ms());",
        "const int64_t now_ms = clock_wall_ms();",  # forward: the least rest is over. Back: nothing is held up.
        "if (!pod_addresses_choose(&pods->addresses, clock_wall_ms(), pods->setup.config->pods.rest_ms,",
    ],
    # How long has a block of this node been empty? As above. Forward: it is given back early, never with
    # an address in use. Back: it is kept longer.
    "report/block_keeper.c": ["int64_t next_wall_ms, wall_ms = clock_wall_ms();"],
    "report/block_steps.c": [
        "if (!addresses || plan_pod_surplus(addresses, clock_wall_ms(), keeper->options.empty_ms,",
    ],
    # "41s ago", on the screen.
    "apply/egress/seen.c": ["return mono_ms ? clock_wall_ms() - (clock_mono_ms() - mono_ms) : 0;"],
    "doctor/check_cert.c": ["const int64_t now_ms = clock_wall_ms();"],
    "agentctl/field.c": ["int64_t age_ms = clock_wall_ms() - wall_ms;"],
}


CALL = "clock_wall_ms()"


def decisions(text):
    """The lines that ask for wall time, but for those that only write it down."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    found = []
    for match in re.finditer(re.escape(CALL), text):
        statement = re.split(r"[;{}]", text[: match.start()])[-1]
        line = text[text.rfind("\n", 0, match.start()) + 1 : text.find("\n", match.end())].strip()
        if re.search(r"_wall_ms = $", statement) and text[match.end()] in ",;":
            continue
        if "fault_book_replace(" in statement and text[match.end()] == ")":
            continue
        found.append(line)
    return found


def sources():
    return [p for p in sorted(AGENT.rglob("*.c")) if p != AGENT / "base" / "clock.c"]


def test_wall_time_decides_nothing_else():
    found = {}
    for path in sources():
        if asked := decisions(path.read_text(encoding="utf-8")):
            found[str(path.relative_to(AGENT))] = asked
    assert found == DECISIONS


def test_only_one_file_asks_the_system():
    other = re.compile(r"\b(clock_gettime|gettimeofday|CLOCK_REALTIME\w*|time\((NULL|0|&))")
    assert [str(p) for p in sources() if other.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("text, found", [
    ("if (end < clock_wall_ms())\n    return;\n", 1),
    ("status->since_wall_ms = clock_wall_ms();", 0),
    ("hold->until_ms = clock_wall_ms();", 1),
    ("(void)fault_book_replace(book, \"a\", \"b\", &faults,\n    clock_wall_ms());", 0),
    ("int64_t x = clock_wall_ms() - since_wall_ms;", 1),
    ("/* clock_wall_ms() */", 0),
    ("x = (struct s){ .since_wall_ms = clock_wall_ms(),\n .late = y > clock_wall_ms(),\n};", 1),
])
def test_a_decision_is_found(text, found):
    assert len(decisions(text)) == found
