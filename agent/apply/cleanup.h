/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes what is ours out of the kernel, without objects, plan or daemon: `agentctl cleanup`, and
 * the dead-man. Only protocol numbers decide (of NAT: pins, names and aliases), so that it works
 * after a crash and for what another version wrote. Doing it twice does nothing the second time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

enum cleanup_scope {
    CLEANUP_ALL,               /* routes of all three tables, and rules */
    CLEANUP_SERVICE_ADDRESSES, /* only their announcements: blocks and guards stay */
};

struct cleanup_counts {
    uint32_t routes, rules;  /* that were removed */
    uint32_t programs, pins; /* of service NAT: detached; maps and others */
    bool svc0;
    uint32_t addresses; /* claimed ones that the kernel would have kept for a while */
    bool nftables;      /* our table of it */
};

/*
 * Returns 0; -EIO if the kernel refused something, each a fault; or what opening the kernel's
 * tables said.
 */
int cleanup_kernel(uint32_t export_table, enum cleanup_scope scope,
                   struct cleanup_counts *ret_counts, struct faults *faults);

/* Our table of nftables. Adds to `counts`. Returns 0, or -EIO with a fault. */
int cleanup_firewall(struct cleanup_counts *counts, struct faults *faults);

/*
 * What service NAT has left: programs on interfaces, svc0, and all that is pinned below `pins`
 * (paths.bpf). Adds to `counts`. Returns 0, or -EIO if something could not be removed, each a
 * fault.
 */
int cleanup_nat(const char *pins, struct cleanup_counts *counts, struct faults *faults);
