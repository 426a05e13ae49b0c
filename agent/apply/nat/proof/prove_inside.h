/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the proof, shared by its two files: prove.c (probes), prove_path.c (paths). */
#pragma once

#include "apply/nat/proof/children.h"
#include "apply/nat/proof/prove.h"

enum { WHY_SIZE = 128 };

/* The result for the slots of a set. */
enum walked {
    WALKED_NOT,
    WALKED_FORTH, /* each has a route, but some replies would not be seen */
    WALKED_BOTH,  /* both directions */
};

struct prover {
    struct nat_datapath *datapath;
    const struct probe_origins *origins;
    const struct nat_row *row;
    const struct nat_family *family;
    uint32_t service;           /* the id whose name is the row's; 0: not read yet */
    enum walked *walked;        /* by port_index * NAT_SETS + set */
    enum walked *const *walks;  /* such a table for each uplink that is probed */
    uint32_t parent;            /* the interface that was queried last */
    enum nat_children children; /* ... its children; 0: none was queried */
    bool unseen;                /* a slot of this walk leaves by an interface without our program */
    bool any_lost;              /* some probed endpoint has no route */
    bool lost;                  /* the difference is that the endpoint of one slot has no route */
    /* The difference is that the pod of the probing interface was deleted: its origin is not
     * proved, as without a pod, until the next check of the interfaces selects another one. */
    bool gone;
    bool sourceless;     /* the difference is a missing address to masquerade with */
    char lame[WHY_SIZE]; /* why, of the first slot without a route, if others serve; or "" */
    char why[WHY_SIZE];  /* what differs */
    const char *remedy;
};

/* "10.244.0.5:8080", "[fd44::5]:8080". Returns the buffer. */
const char *prover_endpoint(const struct nat_endpoint *endpoint, char buffer[static 64]);

/* Records a difference. Returns 0, as all functions do that found one; they return 1 if none. */
int prover_differs(struct prover *prover, const char *remedy, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Records that the endpoint of an answer has no route: also sets prover->lost. Returns 0. */
int prover_no_path(struct prover *prover, const struct nat_probe *probe,
                   const struct nat_answer *answer);

/* Checks the path to an endpoint and that of its replies. Returns 1, or 0 with the difference. */
int prover_check_path(struct prover *prover, const struct nat_port *port,
                      const struct nat_probe *probe, const struct nat_answer *answer);
