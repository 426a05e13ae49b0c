// SPDX-License-Identifier: Apache-2.0
/* Which Services wait for an address; see waiting.h. Called by the waiting engine. */
#include "plan/pools/waiting.h"

#include "plan/routes/claim.h"

bool plan_service_waits(const struct config *config, const struct service *service)
{
    if (config->pools.allocate || service->type != SERVICE_LOAD_BALANCER || !service->announce ||
        !(config->services.advertise & ADVERTISE_LOAD_BALANCER) ||
        !claim_is_our_class(config, service) || claim_service(config, service) != REASON_ANNOUNCED)
        return false;
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin != ADDRESS_CLUSTER)
            return false;
    }
    return true;
}
