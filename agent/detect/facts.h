/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts that detectors use: values that the caller has read. A kind of fact that was not read,
 * or that this host does not have, is marked so, and no detector uses it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sorted.h"
#include "config/config.h"
#include "status/bird_status.h"
#include "store/store.h"

/*
 * Kinds of facts: read from the kernel (apply/host_facts.h), or by the program part that the kind
 * names.
 */
enum fact_kind {
    FACT_TRACKING = 1 << 0,
    FACT_BIRD = 1 << 1,     /* by the poller of BIRD */
    FACT_SETTINGS = 1 << 2, /* by the caller, for the families it names: no row has a period */
    FACT_FIREWALL = 1 << 3, /* by the reader of nftables' chains */
    FACT_OBJECTS = 1 << 4,  /* in each pass: the store, and this node's interfaces */
    FACT_SERVICE = 1 << 5,  /* in each pass that touches it: one Service, and the store */
};

/* The table of tracked connections. */
struct tracking_facts {
    bool known; /* this kernel tracks connections */
    int64_t count, most;
    bool helpers; /* are assigned by port, without a rule that names them */
};

/* Settings of the kernel; one that can't be read counts as correct. */
struct setting_facts {
    bool v4, v6; /* families that this node has; set by the caller, not read: the others are not
                    checked */
    bool forwards_v4, forwards_v6;
    bool accepts_local; /* accept_local on the loopback: packets with a source address of this node
                         */
    bool svc0_has_v6;
};

struct firewall_facts {
    const char *drop_chain; /* the first foreign chain with policy drop; "": none */
};

/* Which Services matter for conflicts, as the detector found last; private to the detector. */
struct conflict_scope {
    prefix_list own; /* this node's networks */
    bool unowned;    /* ClusterIPs are outside: any Service */
};

/* All borrowed. */
struct detector_facts {
    const struct config *config; /* NULL: none can be read */
    struct tracking_facts tracking;
    const struct store *store;
    const struct service *service; /* the one that is judged */
    const struct sorted *link_addresses, *links;
    struct conflict_scope *conflicts;
    struct setting_facts settings;
    struct firewall_facts firewall;
    const struct bird_status *bird; /* a BIRD that answers; with the wall clock's time then */
    int64_t wall_ms;
};
