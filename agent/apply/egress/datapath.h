/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data plane of egress on the clients' nodes: the pinned maps, the programs, and the functions
 * that write and read them. The egress engine opens it, writes what the planner wants, and attaches
 * the programs (nat/hooks/hooks.h).
 *
 * The maps outlive the agent. Opening adopts what is pinned, so that a restart moves no flow to
 * another gateway.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/sorted.h"
#include "bpf/egress_abi.h"
#include "plan/egress/egress_table.h"

struct egress_datapath;

/*
 * Loads the programs, opens or creates the maps. `pins`: paths.bpf; NULL: nothing is pinned
 * (tests). A missing capability or bpf file system is a fault that names it. Returns 0 or -errno.
 */
int egress_datapath_open(const char *pins, struct egress_datapath **ret_datapath,
                         struct faults *faults);
/* Everything that is pinned stays. */
void egress_datapath_close(struct egress_datapath *datapath);
DEFINE_CLEANUP(struct egress_datapath *, egress_datapath_close);

/* Removes the pins of all maps. Returns their number, or -errno. */
int egress_datapath_unpin(const char *pins);
/* Pins maps again whose pins somebody has removed. */
void egress_datapath_keep_pins(const struct egress_datapath *datapath, struct faults *faults);

/* The descriptor of a hook's program, borrowed, or -errno; and the kernel's id of it, or 0. `bare`:
 * as nat_datapath_program(); of pods' hooks there is none. */
int egress_datapath_program(struct egress_datapath *datapath, enum nat_hook hook, bool bare);
uint32_t egress_datapath_program_id(struct egress_datapath *datapath, enum nat_hook hook,
                                    bool bare);

struct egress_settings {
    uint16_t port;     /* of tunnels */
    bool hold_unknown; /* pods that are not in the tables may only speak to the cluster */
    bool pod_tunnels;  /* pods may wrap for gateways by themselves */
};
void egress_datapath_set(struct egress_datapath *datapath, const struct egress_settings *settings);
/* As nat_datapath_set_by_route(). */
void egress_datapath_set_by_route(struct egress_datapath *datapath, const uint32_t *tunnels,
                                  size_t count);

/* What the maps shall hold; all borrowed. */
struct egress_wanted {
    const struct sorted *sets;     /* struct egress_set * */
    const struct sorted *policies; /* struct egress_policy * */
    const struct sorted *pods;     /* struct egress_pod * */
    const struct prefix *excluded;
    size_t excluded_count;
    /* Up to when all gateways have learned of new clients, monotonic; INT64_MAX: all do. */
    int64_t known_ms;
    bool may_remove; /* what is not named here goes; else it stays */
};

/*
 * Makes the maps match, by difference: gateways first, then routes, then the pods that use them;
 * and what goes, the other way round. Returns the number of entries that were written, or -errno
 * with a fault: what was written until then stays, and the next call goes on.
 */
int egress_datapath_write(struct egress_datapath *datapath, const struct egress_wanted *wanted,
                          struct faults *faults);

/*
 * The same for these addresses alone: their pods are those of `pods`, or none. All else stands as
 * it was written last.
 */
int egress_datapath_write_pods(struct egress_datapath *datapath, const struct sorted *pods,
                               const ip_list *addresses, bool may_remove, struct faults *faults);

/*
 * The ports of bridges that addresses of pods were found behind (struct egress_home by
 * egress_home_cmp()), which count with what is written from now on. Borrowed as long as the
 * datapath is open.
 */
struct egress_home {
    struct ip address;
    uint32_t port; /* its ifindex */
};
int egress_home_cmp(const void *a, const void *b); /* by address */
void egress_datapath_set_homes(struct egress_datapath *datapath, const struct sorted *homes);
/* What is written of an address, also by an earlier agent; 0: none. */
uint32_t egress_datapath_port_of(const struct egress_datapath *datapath, const struct ip *address);

/* What the maps remember of a gateway, from this agent or an earlier one. */
enum egress_gateway_memory {
    EGRESS_MEMORY_NONE,     /* nothing, or it has never answered probes */
    EGRESS_MEMORY_ANSWERED, /* it has answered, */
    EGRESS_MEMORY_STALE,    /* and said that it learns of no new clients, */
    EGRESS_MEMORY_SILENT,   /* but not of late */
};
enum egress_gateway_memory egress_datapath_memory(const struct egress_datapath *datapath,
                                                  const struct ip *gateway);
