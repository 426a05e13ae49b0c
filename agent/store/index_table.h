/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's indexes as one table: which kind of object each follows, by which keys, in which
 * order. Private to store/.
 *
 * A further index is a name here and a row in index_table.c; the store opens, updates and frees all
 * of them together.
 */
#pragma once

#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "store/index.h"

enum index_name {
    SERVICES_AT, /* Services by address, in order of precedence */
    SERVICES_ON, /* Services by protocol and node port, in order of precedence */
    SLICES_OF,   /* EndpointSlices by namespace and name of their Service, in order of name */
    NODES_AT,    /* Nodes by address */
    PODS_AT,     /* Pods by address of their own, in order of precedence */
    PODS_OF,     /* Pods by namespace and name of the Egresses that they name, in order of name */
    INDEX_COUNT,
};

struct index_table {
    struct index list[INDEX_COUNT];
};

/* Empty indexes. `seed` is borrowed for the table's life. */
struct index_table index_table_new(const uint8_t seed[static 16]);

/*
 * Replaces `before` by `after` in every index of its kind; NULL: none. Returns 0, or -ENOMEM with
 * all indexes unchanged. Can't fail where `after` is NULL.
 */
int index_table_update(struct index_table *table, enum kind kind, const struct object *before,
                       const struct object *after);

void index_table_done(struct index_table *table);

/*
 * The keys for lookups. The last function returns false if the names are longer than any Service's
 * can be.
 */
struct index_key index_key_of_ip(const struct ip *ip);
struct index_key index_key_of_node_port(enum protocol protocol, uint16_t node_port);
bool index_key_of_names(const char *namespace, const char *name, struct index_key *ret_key);
