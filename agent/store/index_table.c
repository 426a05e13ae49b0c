// SPDX-License-Identifier: Apache-2.0
/*
 * The table of the store's indexes; see index_table.h.
 *
 * Keys are compared and hashed as bytes, so each has one representation, without padding. A node
 * port is in network byte order after its protocol; namespace and name of a slice's Service are
 * separated by a NUL, and so are those of an Egress.
 */
#include "store/index_table.h"

#include <string.h>

#include "model/node.h"
#include "model/pod.h"
#include "model/services/endpoint_slice.h"
#include "model/services/service.h"

struct index_key index_key_of_ip(const struct ip *ip)
{
    struct index_key key = { .size = sizeof(*ip) };
    memcpy(key.bytes, ip, sizeof(*ip));
    return key;
}
_Static_assert(sizeof(struct ip) == 17, "a key must have no padding");

struct index_key index_key_of_node_port(enum protocol protocol, uint16_t node_port)
{
    return (struct index_key){
        .size = 3,
        .bytes = { (uint8_t)protocol, (uint8_t)(node_port >> 8), (uint8_t)node_port },
    };
}

bool index_key_of_names(const char *namespace, const char *name, struct index_key *ret_key)
{
    size_t first = strnlen(namespace, INDEX_KEY_MAX) + 1, second = strnlen(name, INDEX_KEY_MAX);
    if (second == 0 || first + second > INDEX_KEY_MAX)
        return false;
    memcpy(ret_key->bytes, namespace, first);
    memcpy(ret_key->bytes + first, name, second);
    ret_key->size = first + second;
    return true;
}

static bool service_address(const struct object *object, size_t i, struct index_key *ret_key)
{
    const struct service *service = to_service(object);
    if (i >= service->address_count)
        return false;
    *ret_key = index_key_of_ip(&service->addresses[i].ip);
    return true;
}

static bool service_node_port(const struct object *object, size_t i, struct index_key *ret_key)
{
    const struct service *service = to_service(object);
    if (i >= service->port_count)
        return false;
    const struct service_port *port = &service->ports[i];
    if (port->node_port)
        *ret_key = index_key_of_node_port(port->protocol, port->node_port);
    else
        ret_key->size = 0;
    return true;
}

static bool slice_service(const struct object *object, size_t i, struct index_key *ret_key)
{
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    return i == 0 && index_key_of_names(object->namespace, slice->service, ret_key);
}

static bool node_address(const struct object *object, size_t i, struct index_key *ret_key)
{
    const struct node *node = to_node(object);
    if (i >= node->address_count)
        return false;
    *ret_key = index_key_of_ip(&node->addresses[i]);
    return true;
}

/* A pod in the host's network has its Node's address, and a finished pod has none. */
static bool pod_address(const struct object *object, size_t i, struct index_key *ret_key)
{
    const struct pod *pod = to_pod(object);
    if (i >= pod->ip_count || !pod_owns_addresses(pod))
        return false;
    *ret_key = index_key_of_ip(&pod->ips[i]);
    return true;
}

static bool pod_egress(const struct object *object, size_t i, struct index_key *ret_key)
{
    const struct pod *pod = to_pod(object);
    if (i >= pod->egress_count || !pod_owns_addresses(pod))
        return false;
    ret_key->size = 0;
    (void)index_key_of_names(pod->egresses[i].namespace, pod->egresses[i].name, ret_key);
    return true;
}

/* Slices made from Endpoints come last: store_slices_of() omits them after others. */
static int slice_order(const struct object *a, const struct object *b)
{
    const bool left = to_endpoint_slice(a)->source == SLICE_ENDPOINTS;
    const bool right = to_endpoint_slice(b)->source == SLICE_ENDPOINTS;
    return left != right ? left - right : object_key_cmp(a, b);
}

static const struct {
    enum kind kind;
    index_key_fn key;
    index_order_fn order;
} rows[INDEX_COUNT] = {
    [SERVICES_AT] = { KIND_SERVICE, service_address, object_precedence_cmp },
    [SERVICES_ON] = { KIND_SERVICE, service_node_port, object_precedence_cmp },
    [SLICES_OF] = { KIND_ENDPOINT_SLICE, slice_service, slice_order },
    [NODES_AT] = { KIND_NODE, node_address, object_key_cmp },
    [PODS_AT] = { KIND_POD, pod_address, object_precedence_cmp },
    [PODS_OF] = { KIND_POD, pod_egress, object_key_cmp },
};

struct index_table index_table_new(const uint8_t seed[static 16])
{
    struct index_table table = { 0 };
    for (enum index_name i = 0; i < INDEX_COUNT; i++)
        table.list[i] = (struct index){ .key = rows[i].key, .order = rows[i].order, .seed = seed };
    return table;
}

static void abandon(struct index_table *table, enum kind kind, enum index_name end,
                    const struct object *after)
{
    for (enum index_name i = 0; i < end; i++) {
        if (rows[i].kind == kind)
            index_abandon(&table->list[i], after);
    }
}

int index_table_update(struct index_table *table, enum kind kind, const struct object *before,
                       const struct object *after)
{
    if (before == after)
        return 0;
    for (enum index_name i = 0; i < INDEX_COUNT; i++) {
        int r = rows[i].kind == kind ? index_prepare(&table->list[i], before, after) : 0;
        if (r < 0) {
            abandon(table, kind, i, after);
            return r;
        }
    }
    for (enum index_name i = 0; i < INDEX_COUNT; i++) {
        if (rows[i].kind == kind)
            index_commit(&table->list[i], before, after);
    }
    return 0;
}

void index_table_done(struct index_table *table)
{
    for (enum index_name i = 0; i < INDEX_COUNT; i++)
        index_done(&table->list[i]);
}
