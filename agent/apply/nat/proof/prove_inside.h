/* SPDX-License-Identifier: Apache-2.0 */
/* What the proof is made of, shared by its two files: prove.c (questions), prove_path.c (ways). */
#pragma once

#include "apply/nat/proof/children.h"
#include "apply/nat/proof/prove.h"

enum { WHY_SIZE = 128 };

/* What is known of the slots of a set. */
enum walked {
    WALKED_NOT,
    WALKED_FORTH, /* each has a way, but for some the replies would not be seen */
    WALKED_BOTH,  /* there and back */
};

struct prover {
    struct nat_datapath *datapath;
    const struct probe_origins *origins;
    const struct nat_row *row;
    const struct nat_family *family;
    uint32_t service;           /* the id whose name is the row's; 0: not asked yet */
    enum walked *walked;        /* by port_index * NAT_SETS + set */
    enum walked *const *walks;  /* such a table for each uplink that is asked by */
    uint32_t parent;            /* the interface that was asked last for ... */
    enum nat_children children; /* ... its children; 0: none was asked */
    bool unseen;   /* one of the slots being walked leaves by an interface without us */
    bool any_lost; /* some endpoint that was asked for has no way */
    bool lost;     /* what differs is that there is no way to the endpoint of one slot */
    /* What differs is that the pod ended by whose interface the probes come: its origin is not
     * proved, as where there is no pod, until the next look at the interfaces takes another. */
    bool gone;
    bool sourceless;     /* ... for lack of an address to masquerade with */
    char lame[WHY_SIZE]; /* ... of the first such slot of a set that is served by others; or "" */
    char why[WHY_SIZE];  /* what differs */
    const char *remedy;
};

/* "10.244.0.5:8080", "[fd44::5]:8080". Returns the buffer. */
const char *prover_endpoint(const struct nat_endpoint *endpoint, char buffer[static 64]);

/* Says what differs. Returns 0, as all do that found a difference; they return 1 if none. */
int prover_differs(struct prover *prover, const char *remedy, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* That there is no way to the endpoint of an answer: sets prover->lost, too. Returns 0. */
int prover_no_path(struct prover *prover, const struct nat_probe *probe,
                   const struct nat_answer *answer);

/* The way to an endpoint and that of its replies. Returns 1, or 0 with what differs. */
int prover_check_path(struct prover *prover, const struct nat_port *port,
                      const struct nat_probe *probe, const struct nat_answer *answer);
