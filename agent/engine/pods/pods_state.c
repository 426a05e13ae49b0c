// SPDX-License-Identifier: Apache-2.0
/* Helpers for the state of the pods engine; see pods_state.h. */
#include "engine/pods/pods_state.h"

#include "base/clock.h"

struct pod_attachment *pods_attachment(const struct pods_engine *pods,
                                       const struct pod_interface *key)
{
    return sorted_find(&pods->attachments, key);
}

int pods_forget(struct pods_engine *pods, const struct pod_interface *key)
{
    const struct pod_attachment *attachment = pods_attachment(pods, key);
    if (!attachment)
        return 0;
    const struct pod_interface pod_interface = attachment->pod_interface;
    int r = pod_addresses_free(&pods->addresses, &pod_interface, clock_wall_ms());
    if (r < 0)
        return r;
    sorted_remove(&pods->attachments, &pod_interface);
    pods->unsaved = true;
    return 1;
}

void pods_report(struct pods_engine *pods, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(pods->setup.status->faults, "pods", group, faults, clock_wall_ms());
}
