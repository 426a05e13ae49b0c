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
 * Loads the programs, and opens or creates the maps. `pins`: paths.bpf; NULL: nothing is pinned
 * (tests). A missing capability or bpf file system is a fault that names it. Returns 0 or -errno.
 */
int egress_datapath_open(const char *pins, struct egress_datapath **ret_datapath,
                         struct faults *faults);
/* Keeps everything that is pinned. */
void egress_datapath_close(struct egress_datapath *datapath);
DEFINE_CLEANUP(struct egress_datapath *, egress_datapath_close);

/* Removes the pins of all maps. Returns their number, or -errno. */
int egress_datapath_unpin(const char *pins);
/* Restores the pins of maps that another program has removed. */
void egress_datapath_keep_pins(const struct egress_datapath *datapath, struct faults *faults);

/* The descriptor of a hook's program, borrowed, or -errno; and the program's id in the kernel,
 * or 0. `bare`: as nat_datapath_program(); pods' hooks have none. */
int egress_datapath_program(struct egress_datapath *datapath, enum nat_hook hook, bool bare);
uint32_t egress_datapath_program_id(struct egress_datapath *datapath, enum nat_hook hook,
                                    bool bare);

struct egress_settings {
    uint16_t port;     /* of FoU */
    bool hold_unknown; /* pods that are not in the tables may only reach the cluster */
    bool pod_tunnels;  /* pods may encapsulate packets for gateways themselves */
};
void egress_datapath_set(struct egress_datapath *datapath, const struct egress_settings *settings);
/* As nat_datapath_set_by_route(). */
void egress_datapath_set_by_route(struct egress_datapath *datapath, const uint32_t *tunnels,
                                  size_t count);

/* The wanted contents of the maps; all borrowed. */
struct egress_wanted {
    const struct sorted *sets;     /* struct egress_set * */
    const struct sorted *policies; /* struct egress_policy * */
    const struct sorted *pods;     /* struct egress_pod * */
    const struct prefix *excluded;
    size_t excluded_count;
    /* Monotonic time up to which all gateways have learned of new clients; INT64_MAX: they know
     * all. */
    int64_t known_ms;
    bool may_remove; /* entries that are not named here are removed; otherwise they are kept */
};

/*
 * Makes the maps match, by difference: first gateways, then routes, then the pods that use them;
 * removals in the reverse order. Returns the number of entries that were written, or -errno with a
 * fault: what was written until then is kept, and the next call continues.
 */
int egress_datapath_write(struct egress_datapath *datapath, const struct egress_wanted *wanted,
                          struct faults *faults);

/*
 * The same for these addresses alone: their pods are those in `pods`, or none. All else stays as it
 * was last written.
 */
int egress_datapath_write_pods(struct egress_datapath *datapath, const struct sorted *pods,
                               const ip_list *addresses, bool may_remove, struct faults *faults);

/*
 * The bridge ports behind which addresses of pods were found (struct egress_home by
 * egress_home_cmp()). They apply to everything written from now on. Borrowed as long as the
 * datapath is open.
 */
struct egress_home {
    struct ip address;
    uint32_t port; /* its ifindex */
};
int egress_home_cmp(const void *a, const void *b); /* by address */
void egress_datapath_set_homes(struct egress_datapath *datapath, const struct sorted *homes);
/* Returns the port that is in the map for an address, also if an earlier agent wrote it; 0:
 * none. */
uint32_t egress_datapath_port_of(const struct egress_datapath *datapath, const struct ip *address);

/* The state of a gateway in the maps, written by this agent or an earlier one. */
enum egress_gateway_memory {
    EGRESS_MEMORY_NONE,     /* none, or it has never answered probes */
    EGRESS_MEMORY_ANSWERED, /* it has answered, */
    EGRESS_MEMORY_STALE,    /* and said that it learns of no new clients, */
    EGRESS_MEMORY_SILENT,   /* but not of late */
};
enum egress_gateway_memory egress_datapath_memory(const struct egress_datapath *datapath,
                                                  const struct ip *gateway);
