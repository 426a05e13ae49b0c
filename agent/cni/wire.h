/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's side of a pod's wire: the pair is made, found and taken down. inside.h has what is
 * done in the pod's namespace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "cni/error.h"
#include "cni/plan.h"
#include "cni/pods.h"
#include "cni/request.h"

struct wire {
    struct nl_socket *node; /* stays the node's wherever the process is */
    int netns;              /* the pod's namespace; -1: it is gone, or was not named */
    uint32_t pod_index;     /* the pod's end, in its namespace */
    struct pod_ends ends;   /* ends.host_index: 0 as long as nothing was made */
};

/*
 * Opens what the node's side takes, and the pod's namespace: it must be one, and not the node's.
 * With `may_be_gone` it is no error if it is none of these. The caller ends it with wire_done().
 */
int wire_open(const struct cni_request *request, bool may_be_gone, struct wire *ret_wire,
              struct cni_error *error);
void wire_done(struct wire *wire);

/*
 * Makes the pair: the pod's end in its namespace, down and bare; the node's end with its alias and
 * sysctls, and up. What an earlier ADD of the same pod made goes first.
 */
int wire_make(struct wire *wire, const struct cni_request *request, const struct plan *plan,
              struct cni_error *error);

/* Deletes what wire_make() made, as far as it came. */
void wire_undo(struct wire *wire);

/*
 * Deletes the pair whose pod's end is wire->pod_index, if the alias of the node's end names the
 * container and the interface of the request; another one stays.
 */
int wire_remove(struct wire *wire, const struct cni_request *request, uint32_t host_index,
                struct cni_error *error);

/* Finds the pair that a plan is about, as wire_make() left it; CNI_DIFFERS where it is not. */
int wire_find(struct wire *wire, const struct plan *plan, struct cni_error *error);

/* Finds the node's end of a pair by the pod's, which the caller has read in its namespace. */
int wire_find_host(struct wire *wire, uint32_t pod_index, uint32_t host_index,
                   struct cni_error *error);
