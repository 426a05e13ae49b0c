/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway has proved of the addresses that it translates to. The routes engine announces
 * them by that. Internal to engine/egress/.
 *
 * An address is proved if every hook of the gateway's carries its program, and a client's packet
 * through the twin (apply/egress/gateway/twin.h) comes out under the address, by an interface that
 * carries the program, too: there the answers are seen. The kernel says nothing of routes that go
 * from main, so the twin is looked at five times a second, and a round asked for if the answer is
 * another one.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "engine/engine.h"
#include "plan/nat/nat_table.h"

/* What a proof depends on. All borrowed. */
struct egress_ground {
    const struct config *config;
    struct kernel *kernel;
    struct egress_gate *gate; /* NULL: there is no gateway */
    const struct egress_gate_settings *settings;
    const nat_attachment_list *attached; /* wanted at the hooks, */
    bool hooked;                         /* and all of it is there */
};

struct egress_proving {
    struct gateway_proofs proofs;      /* on the board */
    bool rivals[EGRESS_ADDRESSES_MAX]; /* somebody else has the address, too */
    struct ip outside[2];              /* where the packets go: IPv4, IPv6; IP_NONE: nowhere */

    struct egress_ground (*ground)(void *context); /* as things are now */
    void (*wake)(void *context);
    void *context, *wake_context;
    struct looks *looks;
};

/* Begins to look, where there is an address to be proved. Returns 0 or -errno. */
int egress_proving_start(struct egress_proving *proving, const struct engine_setup *setup,
                         struct egress_ground (*ground)(void *context), void *context);
void egress_proving_done(struct egress_proving *proving);

/* The objects changed: where packets of clients go. Returns 0 or -ENOMEM. */
int egress_proving_plan(struct egress_proving *proving, const struct node_facts *facts);

/* Proves again. Appends the addresses of which the proof changed. Returns 0 or -ENOMEM. */
int egress_proving_follow(struct egress_proving *proving, ip_list *touched, struct faults *faults);
