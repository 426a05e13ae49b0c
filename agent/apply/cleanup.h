/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes everything of ours from the kernel, without objects, plan or daemon: for `agentctl
 * cleanup` and the dead-man. Only protocol numbers decide (for NAT: pins, names and aliases), so it
 * works after a crash and on what another version wrote. A second call changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

enum cleanup_scope {
    CLEANUP_ALL,               /* routes of all three tables, and rules */
    CLEANUP_SERVICE_ADDRESSES, /* only their announcements: blocks and guards are kept */
};

struct cleanup_counts {
    uint32_t routes, rules;  /* that were removed */
    uint32_t programs, pins; /* of service NAT: programs that were detached; maps and other pins */
    bool svc0;
    uint32_t addresses; /* claimed ones that would exist until their lifetime ends */
    bool nftables;      /* our table of it */
};

/*
 * Returns 0; -EIO if the kernel refused some operations, each with a fault; or the error of opening
 * the kernel's tables.
 */
int cleanup_kernel(uint32_t export_table, enum cleanup_scope scope,
                   struct cleanup_counts *ret_counts, struct faults *faults);

/* Removes our nftables table. Adds to `counts`. Returns 0, or -EIO with a fault. */
int cleanup_firewall(struct cleanup_counts *counts, struct faults *faults);

/*
 * Removes what service NAT has left: programs on interfaces, svc0, and all pins below `pins`
 * (paths.bpf). Adds to `counts`. Returns 0, or -EIO if some could not be removed, each with a
 * fault.
 */
int cleanup_nat(const char *pins, struct cleanup_counts *counts, struct faults *faults);
