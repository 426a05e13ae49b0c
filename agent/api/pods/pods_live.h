/* SPDX-License-Identifier: Apache-2.0 */
/* What the pods' document and metrics are made of. All borrowed; for as long as the agent runs. */
#pragma once

#include <stddef.h>

#include "base/sorted.h"
#include "plan/pods/block_ask.h"
#include "plan/pods/pod_addresses.h"
#include "status/histogram.h"

struct pods_live {
    const struct sorted *attachments; /* struct pod_attachment */
    const struct pod_addresses *addresses;
    const struct histogram *adds; /* by histogram_sync: from a pod's addresses to its service */
    /* The pool at a place of those that this node asks for a block; NULL: behind the last. */
    const struct block_ask *(*ask)(void *context, size_t index);
    void *context;
};
