// SPDX-License-Identifier: Apache-2.0
/*
 * The next step for each object related to blocks; see block_plan.h. Called by the controller's job
 * of blocks when it processes an object.
 *
 * A block is only allocated from a pool with the finalizer: otherwise the pool could be deleted
 * with its blocks while pods use them. Coil's webhook adds it when a pool is created; without a
 * webhook we do, in a separate write.
 *
 * A block is not garbage only because its Node is not known yet: blocks and Nodes are received by
 * different watches. A Node that existed and was deleted is a proof; a block whose Node was never
 * seen waits for BLOCK_LONE_MS.
 */
#include "plan/pods/block_plan.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "faults/blocks.h"

enum { LABEL_VALUE_MAX = 63 };

static const struct {
    const char *name, *text;
    const struct fault_type *type; /* NULL: it ends by itself */
} waits[] = {
    [WAIT_NOTHING] = { "none", "it is served", NULL },
    [WAIT_NAME] = { "long-name",
                    "the name of its node or pool has more than 63 characters, so that no label of "
                    "a block can hold it",
                    &fault_type_block_request_long_name },
    [WAIT_NODE] = { "no-node", "its Node does not exist", &fault_type_block_request_no_node },
    [WAIT_OTHER_NODE] = { "other-node", "it is of another Node, which had the same name",
                          &fault_type_block_request_other_node },
    [WAIT_POOL] = { "no-pool", "its pool does not exist, or cannot be read",
                    &fault_type_block_request_no_pool },
    [WAIT_FINALIZER] = { "no-finalizer", "its pool has no finalizer yet", NULL },
    [WAIT_TAKEN] = { "name-taken", "the name of its block is taken", NULL },
    [WAIT_STATUS] = { "no-status", "its status can't be written: the API has none of it",
                      &fault_type_block_request_no_status },
    [WAIT_OVERLAPS] = { "overlaps", "what is free of its pool overlaps blocks that are in use",
                        &fault_type_block_request_overlaps },
    [WAIT_LOST] = { "lost",
                    "etcd was restored from a backup, and what is free of its pool may be in use: "
                    "for two minutes nodes can put their blocks back",
                    NULL },
    [WAIT_HELD] = { "held",
                    "no controller had led for five minutes or more, so etcd may have been restored "
                    "from a backup: for two minutes nodes can put their blocks back",
                    NULL },
};
_Static_assert(ARRAY_SIZE(waits) == WAIT_REASONS, "a reason has no words");

const char *request_wait_name(enum request_wait wait)
{
    return waits[wait].name;
}

const char *request_wait_text(enum request_wait wait)
{
    return waits[wait].text;
}

const struct fault_type *request_wait_fault(enum request_wait wait)
{
    return waits[wait].type;
}

const char *request_wait_remedy(enum request_wait wait)
{
    return waits[wait].type ? waits[wait].type->remedy : NULL;
}

/* ---- Requests ---- */

static bool is_held(const struct object *object)
{
    const struct object_ties *ties = object->ties;
    for (uint32_t i = 0; ties && i < ties->finalizer_count; i++) {
        if (strcmp(ties->finalizers[i], COIL_FINALIZER) == 0)
            return true;
    }
    return false;
}

/* The node of the request: its owner, if it has one. */
static bool is_of_node(const struct block_request *request, const struct object *node)
{
    const struct object_ties *ties = request->object.ties;
    for (uint32_t i = 0; ties && i < ties->owner_count; i++) {
        const struct object_owner *owner = &ties->owners[i];
        if (strcmp(owner->kind, "Node") == 0 && strcmp(owner->name, node->name) == 0)
            return strcmp(owner->uid, node->uid) == 0;
    }
    return true;
}

/* The node and the pool of a request. */
struct asking {
    const struct object *node;
    const struct address_pool *pool;
};

static enum request_wait look_up(const struct store *store, const struct block_request *request,
                                 struct asking *ret_asking)
{
    if (strlen(request->node) > LABEL_VALUE_MAX || strlen(request->pool) > LABEL_VALUE_MAX)
        return WAIT_NAME;
    const struct object *node = store_get(store, KIND_NODE, "", request->node);
    if (!node)
        return WAIT_NODE;
    if (!is_of_node(request, node))
        return WAIT_OTHER_NODE;
    const struct object *pool = store_get(store, KIND_ADDRESS_POOL, "", request->pool);
    if (!pool)
        return WAIT_POOL;
    if (!pool->deleting && !is_held(pool))
        return WAIT_FINALIZER;
    *ret_asking = (struct asking){ node, to_address_pool(pool) };
    return WAIT_NOTHING;
}

/* The next step for a request without a condition and without a block. */
static enum request_wait find_block(const struct store *store, const struct block_table *table,
                                    const struct block_request *request, struct asking *ret_asking,
                                    struct pool_block *ret_block, bool *ret_found)
{
    *ret_found = false;
    enum request_wait wait = look_up(store, request, ret_asking);
    if (wait || ret_asking->pool->object.deleting)
        return wait;
    enum block_search found = block_table_free(table, ret_asking->pool, ret_block);
    *ret_found = found == BLOCK_FOUND;
    return found == BLOCK_OVERLAPPED ? WAIT_OVERLAPS
           : found == BLOCK_AWAITED  ? WAIT_LOST
                                     : WAIT_NOTHING;
}

int plan_request(const struct store *store, struct block_table *table,
                 const struct block_request *request, int64_t now_ms, struct request_step *ret_step)
{
    struct asking asking;
    struct pool_block block;
    bool found = false;
    const char *uid = request->object.uid;
    *ret_step = (struct request_step){ .what = REQUEST_NOTHING };
    if (request->answered || request->object.deleting)
        return 0;
    /* An entry that is still BLOCK_ASKED here was never sent. */
    block_settle(table, uid, BLOCK_KNOWN, now_ms);
    ret_step->what = REQUEST_ANSWER;
    ret_step->entry = block_of_request(table, uid, now_ms);
    if (ret_step->entry && ret_step->entry->state == BLOCK_MADE) {
        ret_step->wait = look_up(store, request, &asking);
        ret_step->what = ret_step->wait ? REQUEST_WAITS : REQUEST_CREATE;
        if (!ret_step->wait)
            block_ask_again(table, uid, now_ms);
        return 0;
    }
    if (ret_step->entry)
        ret_step->wait = ret_step->entry->state == BLOCK_TAKEN ? WAIT_TAKEN : WAIT_NOTHING;
    else
        ret_step->wait = find_block(store, table, request, &asking, &block, &found);
    if (found && now_ms < table->held_ms) {
        ret_step->wait = WAIT_HELD;
        found = false;
    }
    if (ret_step->wait)
        ret_step->what = REQUEST_WAITS;
    if (!found)
        return 0;
    ret_step->what = REQUEST_CREATE;
    ret_step->entry =
        block_ask(table, asking.pool, &block, to_node(asking.node), &request->object, now_ms);
    return ret_step->entry ? 0 : -ENOMEM;
}

/* ---- Pools and blocks ---- */

enum hold_step plan_pool_hold(const struct block_table *table, const struct address_pool *pool)
{
    const struct object *object = &pool->object;
    if (!object->deleting)
        return is_held(object) ? HOLD_NOTHING : HOLD_ADD;
    bool empty = block_table_count(table, object->name) == 0;
    return is_held(object) && empty ? HOLD_RELEASE : HOLD_NOTHING;
}

bool block_is_lost(const struct address_block *block)
{
    return is_held(&block->object) && !block->object.deleting;
}

bool block_is_lone(const struct store *store, const struct address_block *block)
{
    if (block->reserved || !*block->node)
        return false;
    const struct object *node = store_get(store, KIND_NODE, "", block->node);
    return !node || (*block->node_uid && strcmp(block->node_uid, node->uid) != 0);
}

enum hold_step plan_block_hold(const struct store *store, const struct block_table *table,
                               const struct address_block *block, int64_t now_ms)
{
    const struct block_entry *entry = block_table_find(table, block);
    if (!entry || !block_is_lone(store, block) || !entry->lone_ms || now_ms < entry->lone_ms)
        return HOLD_NOTHING;
    if (is_held(&block->object))
        return HOLD_RELEASE;
    return block->object.deleting ? HOLD_NOTHING : HOLD_DELETE;
}
