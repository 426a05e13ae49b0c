/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the NAT engine between rounds. Only engine/nat/ includes this.
 *
 * An update (engine->turns) is a Service whose row changed. A retired Service is a Service that is
 * gone, but stays in the maps until its routes have left the network.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/datapath.h"
#include "apply/netlink/nl.h"
#include "engine/engine.h"
#include "engine/nat/host/nat_firewall.h"
#include "engine/nat/host/nat_own_paths.h"
#include "engine/nat/host/nat_path.h"
#include "engine/nat/host/nat_routers.h"
#include "engine/nat/nat_node.h"
#include "engine/nat/nat_pressure.h"
#include "engine/nat/nat_triggers.h"
#include "engine/nat/nat_upkeep.h"
#include "engine/nat/pods/nat_answers.h"
#include "engine/nat/pods/nat_set_pods.h"
#include "engine/nat/pods/nat_silent_pods.h"
#include "engine/nat/proof/nat_paths.h"
#include "engine/nat/proof/nat_proofs.h"
#include "loop/backoff.h"
#include "plan/nat/nat.h"

struct nat_update {
    struct nat_row *before, *after; /* before NULL: new; after NULL: gone */
};

struct nat_retired {
    struct nat_row *row;
    int64_t due_ms; /* when it is removed from the maps, monotonic */
};

/* The rounds from the one that wrote until the last proof of what it wrote, taken together. */
struct nat_proving {
    int64_t began_us; /* monotonic; 0: nothing is being proved */
    bool all;         /* one of the rounds was over everything */
    bool everything; /* every row is proved again: because of `all`, or because this node changed */
    bool writes;     /* there was work to write or to compare */
};

/* What is dirty: this round plans and writes it. */
struct nat_work {
    bool all;          /* everything */
    bool node;         /* interfaces, addresses or networks changed */
    bool retry;        /* prove again what was not proved */
    nat_key_list keys; /* Services to plan again; borrowed from objects */
};

struct nat_engine {
    struct engine engine;
    const struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct board *board;
    struct nat_datapath *datapath; /* NULL: NAT is off, or could not be opened */
    struct nl_socket *socket;      /* for the queries of a trace */
    struct nl_socket *diag;        /* socket diagnostics; NULL: not opened yet */
    struct nat_node node;
    ip_list node_ports; /* the addresses on which they are served, IPv4 first */
    struct sorted rows; /* struct nat_row *: as planned */
    struct nat_proofs proofs;
    VEC(struct nat_update) turns;    /* planned, and not written yet */
    VEC(struct nat_retired) retired; /* their rows are no longer in `rows` */
    struct sorted unproved; /* struct nat_row *, borrowed from `rows`: proved again later */
    struct sorted to_prove; /* likewise: proved by the next slices (nat_proving.h) */
    struct nat_work work;   /* what the next round covers */
    struct nat_proving proving;
    struct nat_paths paths;       /* paths to endpoints that changed */
    struct nat_triggers triggers; /* of Services that are not programmed yet */
    struct nat_upkeep upkeep;
    struct nat_pressure_watch pressure;
    struct nat_watch *watch; /* watches listeners in the stack; NULL: not opened yet */
    bool judged;             /* netfilter filters packets, or may do so */
    bool seals;              /* XFRM has policies */
    uint32_t generation;     /* generation of nftables' rules at the last check; 0: unknown */
    char early[128];         /* the first nftables chain at ingress; "": none */
    struct nat_firewall firewall;
    struct nat_routers routers;
    struct nat_silent_pods silent_pods;
    struct nat_set_pods set_pods;
    struct nat_answers answers;
    struct nat_own_paths own_paths;
    bool node_doubted; /* a hook was found without our program; the kernel gives no notification of
                          that */
    bool complete;     /* a pass over everything has been written */
    bool synced;       /* `complete` for a synced source, not for its copy on disk */
    struct backoff retry; /* for what could not be proved */
    int64_t retry_ms;     /* when it is proved again, monotonic; INT64_MAX: all is proved */
    /* nat_engine_listen() */
    void (*told)(const char *namespace, const char *name, const struct nat_row *row, void *context);
    void *told_context;
};

/* An engine without operations and maps. `setup->event` is not used. */
void nat_state_init(struct nat_engine *engine, const struct engine_setup *setup);
void nat_state_done(struct nat_engine *engine);

/* Discards what was planned and not written. */
void nat_state_drop_updates(struct nat_engine *engine);

/* The facts about this node that the planner reads. */
struct node_facts nat_state_facts(const struct nat_engine *engine);

/* The row of a Service as planned, or NULL. */
struct nat_row *nat_state_row(const struct nat_engine *engine, const char *namespace,
                              const char *name);

/* Replaces the faults of a group of subsystem "services", or one kind of faults of a Service. */
void nat_state_report(struct nat_engine *engine, const char *group, const struct faults *faults);
void nat_state_report_row(struct nat_engine *engine, const char *sort, const struct nat_row *row,
                          const struct faults *faults);
