/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a node without a response of the store sends probes on its segments for the holders of
 * addresses. A partitioned segment is joined again before the store responds, since connections
 * need time to recover; until then hosts use stale MAC addresses. So the node probes one address
 * after the other; the first reply after some silence triggers probes for all addresses
 * (announcing_seek()), on which their holders announce them to all hosts.
 *
 * Where another node replies all the time, only this node has lost the store: it probes less often.
 *
 * Pure. Times are of CLOCK_BOOTTIME.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct address_probe {
    bool begun;
    int64_t next_ms;     /* of the next probe; INT64_MAX or not begun: none */
    unsigned unanswered; /* in a row */
};

/* Whether to probe for an address now. `cut_off`: there is one to probe for. */
bool address_probe_next(struct address_probe *address_probe, bool cut_off, int64_t now_ms);

/* When address_probe_next() has a probe to send without an event; INT64_MAX: never. */
int64_t address_probe_due_ms(const struct address_probe *address_probe);

/* A reply was received. True: it is the first after some silence. */
bool address_probe_heard(struct address_probe *address_probe);
