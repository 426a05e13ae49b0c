// SPDX-License-Identifier: Apache-2.0
/*
 * The documents ClusterBlockList and BlockRequestList. What is there, leader and followers know
 * alike; only the leader knows why a request waits, since it is the one that has tried.
 */
#include "api/pods/view_cluster_blocks.h"

#include <string.h>

#include "api/document.h"
#include "model/address_block.h"
#include "model/block_request.h"
#include "plan/pods/block_plan.h"
#include "plan/pods/pool_blocks.h"

static void write_prefix(struct json *json, const char *key, const struct prefix *prefix)
{
    char text[PREFIX_STRLEN];
    if (prefix->ip.family == IP_NONE)
        json_null(json, key);
    else
        json_string(json, key, prefix_str(prefix, text));
}

static void write_word(struct json *json, const char *key, const char *word)
{
    json_string(json, key, *word ? word : NULL);
}

/* ---- Blocks ---- */

static const char *state_of(const struct store *store, const struct address_block *block)
{
    if (block->reserved)
        return "reserved";
    if (block->object.deleting)
        return "deleting";
    return block_is_lone(store, block) ? "lone" : "used";
}

static void write_block_item(struct json *json, const struct store *store,
                             const struct address_block *block)
{
    json_begin_object(json, NULL);
    json_string(json, "name", block->object.name);
    write_word(json, "pool", block->pool);
    write_word(json, "node", block->node);
    json_int(json, "index", block->index);
    write_prefix(json, "ipv4", &block->ipv4);
    write_prefix(json, "ipv6", &block->ipv6);
    json_string(json, "state", state_of(store, block));
    json_end_object(json);
}

/* Blocks of a pool by their label, as the controller counts. */
static int64_t count_used(const object_list *blocks, const char *pool)
{
    int64_t used = 0;
    vec_each(const struct object *, object, blocks)
        used += strcmp(to_address_block(*object)->pool, pool) == 0;
    return used;
}

static void write_pool_item(struct json *json, const struct address_pool *pool,
                            const object_list *blocks)
{
    int64_t size = pool_block_count(pool), used = count_used(blocks, pool->object.name);
    json_begin_object(json, NULL);
    json_string(json, "name", pool->object.name);
    json_bool(json, "deleting", pool->object.deleting);
    json_int(json, "size", size);
    json_int(json, "used", used);
    json_int(json, "free", used < size ? size - used : 0);
    json_end_object(json);
}

void view_cluster_blocks(const struct controller_state *state, struct text *out)
{
    AUTOVEC object_list blocks = { 0 }, pools = { 0 };
    struct json json = view_begin(out, "ClusterBlockList");
    out->failed |= store_list(state->store, KIND_ADDRESS_BLOCK, &blocks) < 0 ||
                   store_list(state->store, KIND_ADDRESS_POOL, &pools) < 0;
    json_begin_array(&json, "items");
    vec_each(const struct object *, object, &blocks)
        write_block_item(&json, state->store, to_address_block(*object));
    json_end_array(&json);
    json_begin_array(&json, "pools");
    vec_each(const struct object *, object, &pools)
        write_pool_item(&json, to_address_pool(*object), &blocks);
    json_end_array(&json);
    view_end(&json);
}

/* ---- Requests ---- */

static void write_wait(struct json *json, enum request_wait wait)
{
    if (wait == WAIT_NOTHING) {
        json_null(json, "waitsFor");
        return;
    }
    json_begin_object(json, "waitsFor");
    json_string(json, "reason", request_wait_name(wait));
    json_string(json, "reasonText", request_wait_text(wait));
    json_string(json, "remedy", request_wait_remedy(wait));
    json_end_object(json);
}

static void write_request(struct json *json, const struct controller_state *state,
                          const struct block_request *request)
{
    const char *name = request->object.name;
    json_begin_object(json, NULL);
    json_string(json, "name", name);
    json_string(json, "node", request->node);
    json_string(json, "pool", request->pool);
    json_string(json, "state",
                !request->answered ? "waiting"
                : request->failed  ? "refused"
                                   : "given");
    write_word(json, "block", request->block);
    write_word(json, "why", request->reason);
    write_wait(json, state->waits ? request_waits_of(state->waits, name) : WAIT_NOTHING);
    json_end_object(json);
}

void view_block_requests(const struct controller_state *state, struct text *out)
{
    AUTOVEC object_list requests = { 0 };
    struct json json = view_begin(out, "BlockRequestList");
    out->failed |= store_list(state->store, KIND_BLOCK_REQUEST, &requests) < 0;
    json_begin_array(&json, "items");
    vec_each(const struct object *, object, &requests)
        write_request(&json, state, to_block_request(*object));
    json_end_array(&json);
    view_end(&json);
}
