/* SPDX-License-Identifier: Apache-2.0 */
/* The document that answers ADD, in the form of each version of the specification. */
#pragma once

#include "base/text.h"
#include "cni/plan.h"
#include "cni/pods.h"
#include "cni/request.h"

/* The pod's interface comes first, then the node's end of it; addresses are the pod's. */
void result_write(struct text *out, const struct cni_request *request, const struct plan *plan,
                  const struct pod_ends *ends);

/* The addresses that the plugin before has told of, for the interface that is asked about. */
int result_addresses(const struct cni_request *request, ip_list *ret_addresses,
                     struct cni_error *error);

/* What the plugin before has told of, as it came. */
int result_pass(struct text *out, const struct cni_request *request, struct cni_error *error);
