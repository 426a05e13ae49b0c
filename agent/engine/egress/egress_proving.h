/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs of the addresses that the gateway translates to. The routes engine announces these
 * addresses by their proofs. Internal to engine/egress/.
 *
 * An address is proved if every hook of the gateway carries its program, and a client's packet sent
 * through the twin (apply/egress/gateway/twin.h) leaves with the address as its source, by an
 * interface that carries the program as well: replies are processed there. The kernel does not
 * notify of routes that are removed from main, so the twin runs five times a second, and a round is
 * requested if its result changes.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "engine/engine.h"
#include "plan/nat/nat_table.h"

/* What a proof depends on. All members are borrowed. */
struct egress_ground {
    const struct config *config;
    struct kernel *kernel;
    struct egress_gate *gate; /* NULL: there is no gateway */
    const struct egress_gate_settings *settings;
    const nat_attachment_list *attached; /* where programs are wanted, */
    bool hooked;                         /* and all of them are attached */
};

struct egress_proving {
    struct gateway_proofs proofs;      /* on the board */
    bool rivals[EGRESS_ADDRESSES_MAX]; /* another node has the address as well */
    struct ip outside[2];              /* destinations of the packets: IPv4, IPv6; IP_NONE: none */

    struct egress_ground (*ground)(void *context); /* returns the present state */
    void (*wake)(void *context);
    void *context, *wake_context;
    struct looks *looks;
};

/* Starts the periodic proofs if there is an address to be proved. Returns 0 or -errno. */
int egress_proving_start(struct egress_proving *proving, const struct engine_setup *setup,
                         struct egress_ground (*ground)(void *context), void *context);
void egress_proving_done(struct egress_proving *proving);

/* The objects changed: determines where packets of clients are sent. Returns 0 or -ENOMEM. */
int egress_proving_plan(struct egress_proving *proving, const struct node_facts *facts);

/* Proves again. Appends the addresses whose proof changed. Returns 0 or -ENOMEM. */
int egress_proving_follow(struct egress_proving *proving, ip_list *touched, struct faults *faults);
