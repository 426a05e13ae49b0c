/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What detectors judge by: values that somebody else has read. A kind of fact that was not read, or
 * that this host does not have, says so, and no detector judges it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sorted.h"
#include "config/config.h"
#include "status/bird_status.h"
#include "store/store.h"

/* Kinds of facts: read from the kernel (apply/host_facts.h), or by whom the kind names. */
enum fact_kind {
    FACT_TRACKING = 1 << 0,
    FACT_BIRD = 1 << 1,     /* by who polls BIRD */
    FACT_SETTINGS = 1 << 2, /* by who asks, for the families that it names: no row has a period */
    FACT_FIREWALL = 1 << 3, /* by who reads the chains of nftables */
    FACT_OBJECTS = 1 << 4,  /* in each pass: the store, and this node's interfaces */
    FACT_SERVICE = 1 << 5,  /* in each pass that touches it: one Service, and the store */
};

/* The table of tracked connections. */
struct tracking_facts {
    bool known; /* this kernel tracks connections */
    int64_t count, most;
    bool helpers; /* are chosen by port, without a rule that names them */
};

/* Settings of the kernel; one that can't be read counts as it should be. */
struct setting_facts {
    bool v4, v6; /* families that this node has; given, not read: the others are not judged */
    bool forwards_v4, forwards_v6;
    bool accepts_local; /* on the loopback, what has a source of this node's own */
    bool svc0_has_v6;
};

struct firewall_facts {
    const char *drop_chain; /* the first of others that drops what it does not accept; "": none */
};

/* Which Services have a say in conflicts, by what the detector found last; it is its own. */
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
