// SPDX-License-Identifier: Apache-2.0
/*
 * Copies a Service with other LoadBalancer addresses. Called where addresses are given that no API
 * writes into the status.
 */
#include "model/services/service_copy.h"

#include <errno.h>

#include "model/fields/encode.h"

static bool is_replaced(const struct service_address *address)
{
    return address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode;
}

int service_copy_with(const struct service *service, const struct ip *ips, size_t count,
                      bool assigned, const char *unheeded, struct object **ret_object)
{
    AUTOVEC VEC(struct service_address) addresses = { 0 };
    if (vec_reserve(&addresses, service->address_count + count) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (!is_replaced(&service->addresses[i]))
            addresses.items[addresses.count++] = service->addresses[i];
    }
    for (size_t i = 0; i < count; i++)
        addresses.items[addresses.count++] =
            (struct service_address){ .ip = ips[i], .origin = ADDRESS_LOAD_BALANCER };
    struct service changed = *service;
    changed.addresses = addresses.items;
    changed.address_count = (uint32_t)addresses.count;
    changed.assigned = assigned;
    if (unheeded)
        changed.unheeded = unheeded;
    return object_copy(&changed.object, ret_object);
}

int service_copy_keeping(const struct service *service, const struct ip *kept, size_t count,
                         struct object **ret_object)
{
    AUTOVEC VEC(struct service_address) addresses = { 0 };
    if (vec_reserve(&addresses, service->address_count) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < service->address_count; i++) {
        struct service_address *address = &addresses.items[addresses.count++];
        *address = service->addresses[i];
        address->kept = false;
        for (size_t j = 0; is_replaced(address) && j < count; j++)
            address->kept |= ip_equal(&address->ip, &kept[j]);
    }
    struct service changed = *service;
    changed.addresses = addresses.items;
    return object_copy(&changed.object, ret_object);
}
