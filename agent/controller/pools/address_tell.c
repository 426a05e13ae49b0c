// SPDX-License-Identifier: Apache-2.0
/*
 * What the job of addresses (address_job.c) reports about pools and about Services without an
 * address: the one cause where there is one, and not its consequences.
 */
#include <string.h>

#include "base/clock.h"
#include "controller/pools/address_inside.h"
#include "faults/controller.h"
#include "faults/raise.h"
#include "model/services/endpoint_slice.h"

/* A controller of MetalLB is running: its webhook has an endpoint. */
bool address_has_rival(const struct address_job *job)
{
    const struct object *object;
    for (size_t cursor = 0;
         (object = store_next(job->job.board->store, KIND_ENDPOINT_SLICE, &cursor));) {
        const struct endpoint_slice *slice = to_endpoint_slice(object);
        if (strcmp(slice->service, "metallb-webhook-service") != 0)
            continue;
        for (uint32_t i = 0; i < slice->endpoint_count; i++) {
            if (slice->endpoints[i].ready)
                return true;
        }
    }
    return false;
}

/* The cause, in place of one refused removal for each pool with allocated addresses. */
static bool lacks_pools(const struct address_job *job)
{
    return job->allocator.pools.objects.count > 0 &&
           kube_status_is_absent(&job->job.board->status->source.kube, kind_name(KIND_IP_POOL));
}

void address_tell(const struct address_job *job, bool rival)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (lacks_pools(job))
        fault_raise(&faults, "IPAddressPool", controller_pools_undefined);
    else if (rival)
        fault_raise(&faults, "MetalLB", controller_metallb_alive);
    else
        pool_allocator_faults(&job->allocator, &faults);
    (void)fault_book_replace(job->job.board->faults, "addresses", "", &faults, clock_wall_ms());
}
