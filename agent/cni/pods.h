/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of agentd's API, as the plugin asks about them (docs/api.md). What agentd refuses, and
 * that it is not there, becomes an error of CNI with agentd's own words in it.
 *
 * Every function returns 0; -ENOTCONN, with the error filled in, if nobody is at the socket, or an
 * agentd that begins, ends or has nothing to give (503); or another negative number with the error
 * filled in.
 */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"
#include "cni/error.h"
#include "cni/plan.h"
#include "cni/request.h"

/* The two ends of a pod's veth pair, once they are made. */
struct pod_ends {
    uint32_t host_index;
    uint8_t host_mac[6], pod_mac[6];
};

/* Asks for a plan: what the pod shall have. The caller ends it with plan_done(). */
int pods_plan(const struct cni_request *request, struct plan *ret_plan, struct cni_error *error);

/* Tells of a pod whose interface another plugin made, and which addresses that has. */
int pods_announce(const struct cni_request *request, const ip_list *addresses,
                  struct cni_error *error);

/* Says that the pod is wired; returns when agentd has done its part. */
int pods_wired(const struct cni_request *request, const struct pod_ends *ends,
               struct cni_error *error);

/* What the pod has by agentd's memory. */
int pods_read(const struct cni_request *request, struct plan *ret_plan, struct cni_error *error);

/* Frees what the pod has. Of a pod that is not known as well. */
int pods_forget(const struct cni_request *request, struct cni_error *error);

/* Frees all that is none of request->live. */
int pods_collect(const struct cni_request *request, struct cni_error *error);

/* Whether one more pod could be had. */
int pods_ready(const struct cni_request *request, struct cni_error *error);
