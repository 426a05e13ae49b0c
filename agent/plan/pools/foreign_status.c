// SPDX-License-Identifier: Apache-2.0
/* Statuses of another allocator; see foreign_status.h. Called by our allocators. */
#include "plan/pools/foreign_status.h"

#include "base/text.h"

/* An address of the status that we do not write, or did not write; NULL: none. */
static const struct service_address *find_foreign(const struct pool_table *pools,
                                                  const struct service *service)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin == ADDRESS_LOAD_BALANCER &&
            (address->proxy_mode || (!service->assigned && !pool_at(pools, &address->ip))))
            return address;
    }
    return NULL;
}

bool status_is_foreign(const struct pool_table *pools, const struct service *service)
{
    return service->ingress_hostname || service->ingress_ports || find_foreign(pools, service);
}

char *status_foreign_text(const struct pool_table *pools, const struct service *service)
{
    const struct service_address *address = find_foreign(pools, service);
    char ip[IP_STRLEN];
    if (service->ingress_hostname)
        return text_format("hostname %s", service->ingress_hostname);
    if (address)
        return text_format("%s, %s", ip_str(&address->ip, ip),
                           address->proxy_mode ? "of ipMode Proxy" : "which is of no pool");
    return text_format("an entry with ports");
}
