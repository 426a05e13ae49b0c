/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, Nodes, blocks and requests in a store, and the table of blocks beside it. */
#pragma once

#include <stdio.h>

#include "planning.h"

#include "plan/pods/block_plan.h"

enum { NOW = 1000000 };

struct blocks {
    struct store *store;
    struct block_table table;
    int64_t now_ms;
};

static inline int blocks_begin(void **state)
{
    struct blocks *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    fx->store = store_new();
    assert_non_null(fx->store);
    block_table_init(&fx->table);
    fx->now_ms = NOW;
    *state = fx;
    return 0;
}

static inline int blocks_end(void **state)
{
    struct blocks *fx = *state;
    block_table_done(&fx->table);
    store_free(fx->store);
    free(fx);
    return 0;
}

/* Puts an object in, and tells the table of it as the controller does. */
static inline void tell(struct blocks *fx, const char *yaml)
{
    struct object *object = object_of(yaml);
    const struct object *before =
        store_get(fx->store, object->kind, object->namespace, object->name);
    if (object->kind == KIND_NODE)
        block_table_node(&fx->table, before ? to_node(before) : NULL, to_node(object), fx->now_ms);
    assert_true(store_put(fx->store, "t", object) >= 0);
    if (object->kind == KIND_ADDRESS_BLOCK)
        assert_int_equal(
            block_table_put(&fx->table, fx->store, to_address_block(object), fx->now_ms), 0);
}

static inline void gone(struct blocks *fx, enum kind kind, const char *name)
{
    const struct object *object = store_get(fx->store, kind, "", name);
    assert_non_null(object);
    if (kind == KIND_NODE)
        block_table_node(&fx->table, to_node(object), NULL, fx->now_ms);
    if (kind == KIND_ADDRESS_BLOCK)
        block_table_drop(&fx->table, to_address_block(object));
    assert_int_equal(store_remove(fx->store, "t", kind, "", name), 1);
}

#define HELD "finalizers: [coil.cybozu.com]"

static inline void tell_pool(struct blocks *fx, const char *name, const char *metadata,
                             const char *spec)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: "
                    "{name: %s, uid: uid-%s, %s}\nspec: {%s}\n",
                    name, name, metadata, spec);
    tell(fx, yaml);
}

static inline void tell_node(struct blocks *fx, const char *name, const char *uid)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Node\nmetadata: {name: %s, uid: %s}\n", name, uid);
    tell(fx, yaml);
}

static inline void tell_request(struct blocks *fx, const char *uid, const char *pool,
                                const char *node, const char *node_uid)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: coil.cybozu.com/v2\nkind: BlockRequest\nmetadata: {name: "
                    "req-%s-%s, uid: %s, ownerReferences: [{apiVersion: v1, kind: Node, name: %s, "
                    "uid: %s}]}\nspec: {nodeName: %s, poolName: %s}\n",
                    pool, node, uid, node, node_uid, node, pool);
    tell(fx, yaml);
}

/* A block with further labels, finalizers and the like. */
static inline void tell_block(struct blocks *fx, const char *name, uint32_t index,
                              const char *prefix, const char *labels, const char *metadata)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: %s, labels: {%s}, "
        "%s}\nindex: %u\n%s: '%s'\n",
        name, labels, metadata, index, strchr(prefix, ':') ? "ipv6" : "ipv4", prefix);
    tell(fx, yaml);
}

#define OF_POOL(pool)  "coil.cybozu.com/pool: " pool
#define OF(pool, node) OF_POOL(pool) ", coil.cybozu.com/node: " node

static inline const struct block_request *request_of(struct blocks *fx, const char *name)
{
    const struct object *object = store_get(fx->store, KIND_BLOCK_REQUEST, "", name);
    assert_non_null(object);
    return to_block_request(object);
}

/* The next step for a request in words: "create default-0", "answer default-0", "answer -",
 * "wait no-pool", "nothing". */
static inline void assert_step(struct blocks *fx, const char *request, const char *expected)
{
    struct request_step step;
    assert_int_equal(
        plan_request(fx->store, &fx->table, request_of(fx, request), fx->now_ms, &step), 0);
    static const char *const words[] = { "nothing", "wait", "create", "answer" };
    static const char *const waits[] = {
        [WAIT_NAME] = "name-too-long",
        [WAIT_NODE] = "no-node",
        [WAIT_OTHER_NODE] = "other-node",
        [WAIT_POOL] = "no-pool",
        [WAIT_FINALIZER] = "pool-not-held",
        [WAIT_TAKEN] = "name-taken",
        [WAIT_OVERLAPS] = "overlap",
        [WAIT_LOST] = "lost",
        [WAIT_HELD] = "held",
    };
    const char *about = step.what == REQUEST_WAITS ? waits[step.wait]
                        : step.entry               ? step.entry->name
                                                   : "-";
    AUTOFREE char *got = step.what == REQUEST_NOTHING
                             ? text_format("nothing")
                             : text_format("%s %s", words[step.what], about);
    assert_string_equal(got, expected);
}

/* The same, and what is told of it afterwards. */
static inline void step(struct blocks *fx, const char *request, const char *expected,
                        enum block_state state)
{
    assert_step(fx, request, expected);
    block_settle(&fx->table, request_of(fx, request)->object.uid, state, fx->now_ms);
}
