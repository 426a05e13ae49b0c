// SPDX-License-Identifier: Apache-2.0
/*
 * Copies a Service with other LoadBalancer addresses: it is written as JSON and read again, as the
 * copy on disk is. That costs some ten microseconds and needs no second list of all that a Service
 * has. Called where addresses are given that no API writes into the status.
 */
#include "model/service_copy.h"

#include <errno.h>

#include "base/text.h"
#include "format/reader.h"
#include "model/encode.h"

static bool is_replaced(const struct service_address *address)
{
    return address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode;
}

static int copy(const struct service *service, struct object **ret_object)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults errors = { 0 }, warnings = { 0 };
    AUTOTEXT struct text text = { 0 };
    const struct object *object = &service->object;
    object_encode(object, &text);
    if (text_error(&text) < 0)
        return -ENOMEM;
    if (document_parse(text_str(&text), text.length, object->file, READER_JSON, &document,
                       &errors) != 1)
        return -ENOMEM;
    int r = object_decode_as(document, KIND_SERVICE, ret_object, &errors, &warnings);
    if (r != 1)
        return -ENOMEM;
    (*ret_object)->line = object->line;
    return 0;
}

int service_copy_with(const struct service *service, const struct ip *ips, size_t count,
                      struct object **ret_object)
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
    return copy(&changed, ret_object);
}
