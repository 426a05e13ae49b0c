/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's row of one address: whether this node announces it and guards it, where its packets
 * are led, and what was found about each Service that names it.
 */
#pragma once

#include "base/fault.h"
#include "model/services/service.h"
#include "plan/nat/svc0_route.h"
#include "plan/routes/address_reason.h"
#include "plan/routes/route_inputs.h"

/* One Service that names the address, and how its claim was judged. */
struct claim {
    const char *namespace, *name;
    enum address_origin origin;
    enum address_reason reason;
    const char *of;             /* what the reason is about: "node-2"; "": nothing else */
    uint32_t ports, forwarding; /* frontends on the address; those with a usable endpoint */
};

/* One address. An allocation of its own, claims and strings included. */
struct address_row {
    struct ip address;
    enum address_reason reason;
    const char *of;               /* as in the claim that came furthest */
    uint8_t protocol;             /* in the export table, if announced */
    bool guarded;                 /* this node may announce it: unmapped ports must not loop */
    bool usable;                  /* would be announced but for hold-down */
    struct svc0_route svc0_route; /* NAT serves it: guarded, or for the node's own packets alone */
    bool gateway;          /* an egress gateway's, and no Service's; then its guard is in main */
    bool by_nodes;         /* other Nodes' objects have a say: shared_ports.h */
    bool foreign;          /* another proxy's, in a network that is led to svc0: it is not */
    int64_t held_until_ms; /* monotonic; 0: not held */
    int64_t leaves_ms;     /* monotonic: announced until then, as another node has all ports; 0 */
    uint64_t stand_in;     /* that node: shared_ports.h */
    uint32_t claim_count;
    struct claim claims[]; /* in order of precedence */
};

void address_row_free(struct address_row *row);
DEFINE_CLEANUP(struct address_row *, address_row_free);

/* Order by address, for struct sorted of struct address_row *. */
int address_row_cmp(const void *a, const void *b);

/*
 * The row of one address; `*ret_row` is NULL if neither a service names it nor an egress gateway
 * translates to it. `before` is the row that is in force, NULL if there is none: what is announced
 * is left to other nodes only after a while. Faults (two services claim one port, ...) go to
 * `faults`. Returns 0 or -ENOMEM.
 */
int plan_address(const struct route_inputs *inputs, const struct ip *address,
                 const struct address_row *before, struct address_row **ret_row,
                 struct faults *faults);
