// SPDX-License-Identifier: Apache-2.0
/*
 * Assigns addresses to a Service or a Pod in the store. The copy is stored under the origin of the
 * object: when that origin puts a new version of the object, the version replaces the copy, and the
 * allocator assigns the addresses again.
 */
#include "store/give.h"

#include <errno.h>

#include "model/fields/encode.h"
#include "model/services/service_copy.h"

int store_give(struct store *store, const struct service *service, const struct ip *ips,
               size_t count, bool assigned, const char *unheeded)
{
    const char *origin = store_origin(store, &service->object);
    struct object *copy;
    if (!origin)
        return 0;
    int r = service_copy_with(service, ips, count, assigned, unheeded, &copy);
    return r < 0 ? r : store_put(store, origin, copy);
}

int store_keep(struct store *store, const struct service *service, const struct ip *kept,
               size_t count)
{
    const char *origin = store_origin(store, &service->object);
    struct object *copy;
    if (!origin)
        return 0;
    int r = service_copy_keeping(service, kept, count, &copy);
    return r < 0 ? r : store_put(store, origin, copy);
}

int store_give_pod(struct store *store, const struct pod *pod, const ip_list *ips)
{
    const char *origin = store_origin(store, &pod->object);
    struct pod changed = *pod;
    struct object *copy;
    changed.ips = ips->items;
    changed.ip_count = (uint32_t)ips->count;
    if (!origin)
        return 0;
    int r = object_copy(&changed.object, &copy);
    return r < 0 ? r : store_put(store, origin, copy);
}
