/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done in a pod's network namespace. The process goes in once and never comes back; sockets
 * that were opened before stay the node's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "cni/error.h"
#include "cni/plan.h"
#include "cni/request.h"
#include "cni/wire.h"

/* Enters wire->netns, and gives away the right to enter another. */
int inside_enter(const struct wire *wire, struct nl_socket **ret_pod, struct cni_error *error);

/* Gives the pod's end of a new pair all that the plan says, and sets it up. */
int inside_wire(struct nl_socket *pod, struct wire *wire, const struct cni_request *request,
                const struct plan *plan, struct cni_error *error);

/* Whether the pod's end is as inside_wire() left it: CNI_DIFFERS where it is not. */
int inside_check(struct nl_socket *pod, const struct wire *wire, const struct cni_request *request,
                 const struct plan *plan, struct cni_error *error);

/* Finds the interface of the request, a veth: its index, its address, and its other end's index. */
int inside_find(struct nl_socket *pod, const struct cni_request *request, struct wire *wire,
                uint32_t *ret_host_index, struct cni_error *error);

/* The same where there need not be one: false if there is none, or it is no veth to the node. */
bool inside_peer(struct nl_socket *pod, const struct cni_request *request, struct wire *wire,
                 uint32_t *ret_host_index);
