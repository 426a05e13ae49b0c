/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data plane of an egress gateway: its program, its clients, and their blocks of source ports.
 * The egress engine opens it, writes what the planner wants, and attaches the program.
 *
 * Flows are in the table of a NAT datapath (nat/datapath.h), which has to outlive this one: that of
 * service NAT where it is on, so that neither takes a port of the other's.
 */
#pragma once

#include "apply/nat/datapath.h"
#include "base/fault.h"
#include "base/sorted.h"
#include "bpf/egress_abi.h"
#include "plan/egress/egress_table.h"

struct egress_gate;

/* As egress_datapath_open(). The maps of `nat` are borrowed. */
int egress_gate_open(struct nat_datapath *nat, const char *pins, struct egress_gate **ret_gate,
                     struct faults *faults);
/* Everything that is pinned stays. */
void egress_gate_close(struct egress_gate *gate);
DEFINE_CLEANUP(struct egress_gate *, egress_gate_close);

/* Removes the pins of all maps. Returns their number, or -errno. */
int egress_gate_unpin(const char *pins);
/* Pins maps again whose pins somebody has removed. */
void egress_gate_keep_pins(const struct egress_gate *gate, struct faults *faults);

/* The program's descriptor, borrowed, or -errno; and the kernel's id of it, or 0. `bare`: as
 * nat_datapath_program(). */
int egress_gate_program(struct egress_gate *gate, bool bare);
uint32_t egress_gate_program_id(struct egress_gate *gate, bool bare);
int egress_gate_twin(struct egress_gate *gate);

/* How far a gateway is on its way out of service. */
enum egress_gate_phase {
    EGRESS_GATE_OPEN,
    EGRESS_GATE_LEAVING, /* probes say that new flows are to go elsewhere; they are still taken */
    EGRESS_GATE_CLOSED,  /* no new flows any more */
    EGRESS_GATE_GONE,    /* probes say that all flows are to go elsewhere */
};

struct egress_gate_settings {
    uint16_t port;    /* of tunnels */
    struct ip own[2]; /* where clients reach it: IPv4, IPv6; IP_NONE: nowhere */
    /* What packets get as their source: each family's end at the first IP_NONE. */
    struct ip source[2][EGRESS_SOURCES_MAX];
    uint16_t first_port, last_port; /* source ports */
    uint16_t block;                 /* ports of a block */
    uint32_t client_blocks;         /* that a client may have */
    enum egress_gate_phase phase;
};
/* Returns how many clients begin anew, because their ports or addresses are others now, or -errno
 * with a fault. */
int egress_gate_set(struct egress_gate *gate, const struct egress_gate_settings *settings,
                    struct faults *faults);
/* As nat_datapath_set_by_route(). */
void egress_gate_set_by_route(struct egress_gate *gate, const uint32_t *tunnels, size_t count);
void egress_gate_set_phase(struct egress_gate *gate, enum egress_gate_phase phase);

/* Who may send what; all borrowed. */
struct egress_gate_wanted {
    const struct sorted *clients;  /* struct egress_client * */
    const struct sorted *policies; /* struct egress_policy *, those of the clients */
    const struct prefix *excluded;
    size_t excluded_count;
    bool may_remove; /* who is not named any more loses his flows and blocks */
};

/* Makes the maps match, by difference. Returns the number of changes, or -errno with a fault. */
int egress_gate_write(struct egress_gate *gate, const struct egress_gate_wanted *wanted,
                      struct faults *faults);

/* The same for these addresses alone; their clients' policies stand as they were written last. */
int egress_gate_write_some(struct egress_gate *gate, const struct sorted *clients,
                           const ip_list *addresses, bool may_remove, struct faults *faults);

/* Tells the journal of blocks of ports that the program has given since the last call. */
void egress_gate_tell_blocks(struct egress_gate *gate);

/* The heartbeat: all that is known of clients at `now_ms`, monotonic, is in the maps. */
void egress_gate_beat(struct egress_gate *gate, int64_t now_ms);
/* How long ago the last one was, also of an earlier agent. */
int64_t egress_gate_unheard_ms(const struct egress_gate *gate, int64_t now_ms);

/* The phase that stands in the maps: at the start an earlier agent's. */
enum egress_gate_phase egress_gate_phase(const struct egress_gate *gate);
/* How many connections a drain still waits for; see nat_datapath_established(). */
uint64_t egress_gate_established(const struct egress_gate *gate);
