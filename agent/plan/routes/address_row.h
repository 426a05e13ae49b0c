/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's row of one address: whether this node announces it and has a guard for it, where its
 * packets are routed, and the result for each Service that names it.
 */
#pragma once

#include "base/fault.h"
#include "model/services/service.h"
#include "plan/nat/svc0_route.h"
#include "plan/routes/address_reason.h"
#include "plan/routes/route_inputs.h"

/* One Service that names the address, and the result of its claim. */
struct claim {
    const char *namespace, *name;
    enum address_origin origin;
    enum address_reason reason;
    const char *of;             /* the object of the reason: "node-2"; "": none */
    uint32_t ports, forwarding; /* frontends on the address; those with a usable endpoint */
};

/* One address. One allocation, claims and strings included. */
struct address_row {
    struct ip address;
    enum address_reason reason;
    const char *of;               /* of the claim that passed the most checks */
    uint8_t protocol;             /* in the export table, if announced */
    bool guarded;                 /* this node may announce it: unmapped ports must not loop */
    bool usable;                  /* would be announced without hold-down */
    struct svc0_route svc0_route; /* NAT serves it: guarded, or for the node's own packets alone */
    bool gateway;  /* an egress gateway's, and no Service's; then its guard is in main */
    bool by_nodes; /* the result depends on other Nodes' objects: shared_ports.h */
    bool foreign;  /* another proxy's, in a network that is routed to svc0: excepted from that */
    int64_t held_until_ms; /* monotonic; 0: not held */
    int64_t leaves_ms; /* monotonic: announced until then, since another node has all ports; 0 */
    uint64_t stand_in; /* that node: shared_ports.h */
    uint32_t claim_count;
    struct claim claims[]; /* in order of precedence */
};

void address_row_free(struct address_row *row);
DEFINE_CLEANUP(struct address_row *, address_row_free);

/* Order by address, for struct sorted of struct address_row *. */
int address_row_cmp(const void *a, const void *b);

/*
 * The row of one address; `*ret_row` is NULL if neither a service names it nor an egress gateway
 * translates to it. `before` is the current row, NULL if there is none: an announced address is
 * left to other nodes only after a delay. Faults (two Services claim one port, ...) are added to
 * `faults`. Returns 0 or -ENOMEM.
 */
int plan_address(const struct route_inputs *inputs, const struct ip *address,
                 const struct address_row *before, struct address_row **ret_row,
                 struct faults *faults);
