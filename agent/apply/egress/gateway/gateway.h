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
/* Keeps everything that is pinned. */
void egress_gate_close(struct egress_gate *gate);
DEFINE_CLEANUP(struct egress_gate *, egress_gate_close);

/* Removes the pins of all maps. Returns their number, or -errno. */
int egress_gate_unpin(const char *pins);
/* Restores the pins of maps that another program has removed. */
void egress_gate_keep_pins(const struct egress_gate *gate, struct faults *faults);

/* The program's descriptor, borrowed, or -errno; and the program's id in the kernel, or 0.
 * `bare`: as nat_datapath_program(). */
int egress_gate_program(struct egress_gate *gate, bool bare);
uint32_t egress_gate_program_id(struct egress_gate *gate, bool bare);
int egress_gate_twin(struct egress_gate *gate);

/* The phases of taking a gateway out of service. */
enum egress_gate_phase {
    EGRESS_GATE_OPEN,
    EGRESS_GATE_LEAVING, /* probes announce that new flows should use other gateways; new flows are
                            still accepted */
    EGRESS_GATE_CLOSED,  /* new flows are refused */
    EGRESS_GATE_GONE,    /* probes announce that all flows should use other gateways */
};

struct egress_gate_settings {
    uint16_t port;    /* of FoU */
    struct ip own[2]; /* the address that clients use: IPv4, IPv6; IP_NONE: none */
    /* Source addresses for packets: each family's list ends at the first IP_NONE. */
    struct ip source[2][EGRESS_SOURCES_MAX];
    uint16_t first_port, last_port; /* source ports */
    uint16_t block;                 /* ports of a block */
    uint32_t client_blocks;         /* the most that a client may have */
    enum egress_gate_phase phase;
};
/* Returns how many clients start again because their ports or addresses have changed, or -errno
 * with a fault. */
int egress_gate_set(struct egress_gate *gate, const struct egress_gate_settings *settings,
                    struct faults *faults);
/* As nat_datapath_set_by_route(). */
void egress_gate_set_by_route(struct egress_gate *gate, const uint32_t *tunnels, size_t count);
void egress_gate_set_phase(struct egress_gate *gate, enum egress_gate_phase phase);

/* The clients and what they may send; all borrowed. */
struct egress_gate_wanted {
    const struct sorted *clients;  /* struct egress_client * */
    const struct sorted *policies; /* struct egress_policy *, those of the clients */
    const struct prefix *excluded;
    size_t excluded_count;
    bool may_remove; /* clients that are no longer named lose their flows and blocks */
};

/* Makes the maps match, by difference. Returns the number of changes, or -errno with a fault. */
int egress_gate_write(struct egress_gate *gate, const struct egress_gate_wanted *wanted,
                      struct faults *faults);

/* The same for these addresses alone; their clients' policies stay as they were last written. */
int egress_gate_write_some(struct egress_gate *gate, const struct sorted *clients,
                           const ip_list *addresses, bool may_remove, struct faults *faults);

/* Logs the blocks of ports that the program has allocated since the last call. */
void egress_gate_tell_blocks(struct egress_gate *gate);

/* The heartbeat: all that was known about clients at `now_ms` (monotonic) is in the maps. */
void egress_gate_beat(struct egress_gate *gate, int64_t now_ms);
/* Returns the time since the last heartbeat, also of an earlier agent. */
int64_t egress_gate_unheard_ms(const struct egress_gate *gate, int64_t now_ms);

/* Returns the phase in the maps: after the start, that of an earlier agent. */
enum egress_gate_phase egress_gate_phase(const struct egress_gate *gate);
/* Returns the number of connections for which a drain waits; see nat_datapath_established(). */
uint64_t egress_gate_established(const struct egress_gate *gate);
