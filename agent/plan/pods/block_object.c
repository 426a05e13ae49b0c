// SPDX-License-Identifier: Apache-2.0
/* The body of an AddressBlock; see block_object.h. */
#include "plan/pods/block_object.h"

#include "format/json.h"

static void add_prefix(struct json *json, const char *key, const struct prefix *prefix)
{
    char buffer[PREFIX_STRLEN];
    if (prefix->ip.family != IP_NONE)
        json_string(json, key, prefix_str(prefix, buffer));
}

static void add_owner(struct json *json, const struct address_pool *pool)
{
    json_begin_array(json, "ownerReferences");
    json_begin_object(json, NULL);
    json_string(json, "apiVersion", "coil.cybozu.com/v2");
    json_string(json, "kind", "AddressPool");
    json_string(json, "name", pool->object.name);
    json_string(json, "uid", pool->object.uid);
    json_bool(json, "controller", true);
    json_bool(json, "blockOwnerDeletion", true);
    json_end_object(json);
    json_end_array(json);
}

void write_address_block(const struct block_entry *entry, const struct address_pool *pool,
                         struct text *body)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "coil.cybozu.com/v2");
    json_string(&json, "kind", "AddressBlock");
    json_begin_object(&json, "metadata");
    json_string(&json, "name", entry->name);
    json_begin_object(&json, "labels");
    json_string(&json, POOL_LABEL, entry->pool);
    json_string(&json, NODE_LABEL, entry->node);
    if (*entry->request)
        json_string(&json, REQUEST_LABEL, entry->request);
    json_string(&json, NODE_UID_LABEL, entry->node_uid);
    json_end_object(&json);
    json_begin_array(&json, "finalizers");
    json_string(&json, NULL, COIL_FINALIZER);
    json_end_array(&json);
    add_owner(&json, pool);
    json_end_object(&json);
    json_int(&json, "index", entry->index);
    add_prefix(&json, "ipv4", &entry->ipv4);
    add_prefix(&json, "ipv6", &entry->ipv6);
    json_end_object(&json);
}
