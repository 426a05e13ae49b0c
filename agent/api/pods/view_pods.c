// SPDX-License-Identifier: Apache-2.0
/*
 * The document PodList: which pod of this node has which addresses by which interface, out of which
 * block; how full blocks and pools are, and which pools this node asks for one more. Pods behind
 * another plugin are there too, with its addresses: those have neither pool nor block.
 */
#include <string.h>

#include "api/document.h"
#include "api/pods/pods_live.h"
#include "api/pods/view_pods.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "format/json.h"
#include "model/pod.h"
#include "plan/link_table.h"
#include "plan/pods/pod_attachment.h"
#include "plan/pods/pod_pools.h"

static void add_text_or_null(struct json *json, const char *key, const char *text)
{
    if (text && *text)
        json_string(json, key, text);
    else
        json_null(json, key);
}

/* ---- Pods ---- */

static bool has_addresses(const struct pod_attachment *attachment)
{
    return attachment->pod_interface.v4.family != IP_NONE ||
           attachment->pod_interface.v6.family != IP_NONE;
}

/* Its addresses are another plugin's, and so are the routes to them. */
static bool is_chained(const struct api_state *state, const struct pod_attachment *attachment)
{
    return state->chained && sorted_find(state->chained, &attachment->pod_interface) == attachment;
}

static const char *state_of(const struct api_state *state, const struct pod_attachment *attachment)
{
    if (!has_addresses(attachment))
        return "no-address";
    if (attachment->ifindex == 0 || !attachment->wired)
        return "wiring";
    if (is_chained(state, attachment))
        return "chained";
    return attachment->routed ? "routed" : "no-route";
}

static void add_addresses(struct json *json, const struct pod_interface *pod_interface)
{
    const struct ip *const ips[] = { &pod_interface->v4, &pod_interface->v6 };
    char text[IP_STRLEN];
    json_begin_array(json, "addresses");
    for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
        if (ips[i]->family != IP_NONE)
            json_string(json, NULL, ip_str(ips[i], text));
    }
    json_end_array(json);
}

/* The Egresses that the pod's annotations name. */
static void add_egresses(struct json *json, const struct api_state *state,
                         const struct pod_attachment *attachment)
{
    const struct object *object =
        *attachment->name
            ? store_get(state->store, KIND_POD, attachment->namespace, attachment->name)
            : NULL;
    const struct pod *pod = object ? to_pod(object) : NULL;
    json_begin_array(json, "egress");
    for (uint32_t i = 0; pod && i < pod->egress_count; i++)
        json_stringf(json, NULL, "%s/%s", pod->egresses[i].namespace, pod->egresses[i].name);
    json_end_array(json);
}

static const char *block_of(const struct api_state *state,
                            const struct pod_interface *pod_interface)
{
    const struct ip *ip =
        pod_interface->v4.family != IP_NONE ? &pod_interface->v4 : &pod_interface->v6;
    const struct pod_block *block = state->pods ? pod_block_at(state->pods->addresses, ip) : NULL;
    return block ? block->name : NULL;
}

static void add_pod(struct json *json, const char *key, const struct api_state *state,
                    const struct pod_attachment *attachment)
{
    const struct link *link =
        state->links && attachment->ifindex ? link_find(state->links, attachment->ifindex) : NULL;
    json_begin_object(json, key);
    add_text_or_null(json, "namespace", attachment->namespace);
    add_text_or_null(json, "name", attachment->name);
    json_string(json, "container", attachment->pod_interface.container);
    json_string(json, "interface", attachment->pod_interface.interface);
    add_text_or_null(json, "hostInterface", link ? link->name : NULL);
    add_addresses(json, &attachment->pod_interface);
    bool chained = is_chained(state, attachment);
    add_text_or_null(json, "pool", chained ? NULL : attachment->pod_interface.pool);
    add_text_or_null(json, "block", chained ? NULL : block_of(state, &attachment->pod_interface));
    json_string(json, "state", state_of(state, attachment));
    json_time(json, "since", attachment->since_wall_ms);
    add_egresses(json, state, attachment);
    json_end_object(json);
}

static const struct pod_attachment *stay_with(const struct sorted *attachments,
                                              const struct ip *address)
{
    static const struct sorted none;
    sorted_each(const struct pod_attachment, attachment, attachments ? attachments : &none) {
        if (ip_equal(&attachment->pod_interface.v4, address) ||
            ip_equal(&attachment->pod_interface.v6, address))
            return attachment;
    }
    return NULL;
}

void write_pod_interface(struct json *json, const struct api_state *state, const struct ip *address)
{
    const struct pod_attachment *attachment =
        stay_with(state->pods ? state->pods->attachments : NULL, address);
    if (!attachment)
        attachment = stay_with(state->chained, address);
    if (attachment)
        add_pod(json, "tenant", state, attachment);
    else
        json_null(json, "tenant");
}

/* ---- Blocks and pools ---- */

void write_block_fill(struct json *json, const struct api_state *state, const char *name)
{
    static const struct sorted none;
    const struct sorted *blocks = state->pods ? &state->pods->addresses->blocks : &none;
    sorted_each(const struct pod_block, block, blocks) {
        if (strcmp(block->name, name) != 0)
            continue;
        json_int(json, "size", pod_block_size(block));
        json_int(json, "used", pod_block_used(state->pods->addresses, block));
        return;
    }
    json_null(json, "size");
    json_null(json, "used");
}

static void add_block(struct json *json, const struct pod_addresses *addresses,
                      const struct pod_block *block)
{
    uint32_t size = pod_block_size(block), used = pod_block_used(addresses, block);
    json_begin_object(json, NULL);
    json_string(json, "name", block->name);
    json_string(json, "pool", block->pool);
    json_int(json, "size", size);
    json_int(json, "used", used);
    json_string(json, "state", block->reserved ? "reserved" : block->closed ? "leaving" : "open");
    json_end_object(json);
}

static const struct block_ask *ask_of(const struct pods_live *pods, const char *pool)
{
    const struct block_ask *ask;
    for (size_t i = 0; (ask = pods->ask(pods->context, i)); i++) {
        if (strcmp(ask->pool, pool) == 0)
            return ask;
    }
    return NULL;
}

static const char *request_of(const struct block_ask *ask)
{
    if (!ask)
        return NULL;
    return ask->exhausted ? "exhausted" : block_ask_pending(ask) ? "asked" : NULL;
}

static void add_pool(struct json *json, const struct pod_pool *pool, const struct block_ask *ask)
{
    json_begin_object(json, NULL);
    json_string(json, "name", pool->name);
    json_int(json, "blocks", pool->blocks);
    json_int(json, "used", pool->used);
    json_int(json, "free", pool->free);
    add_text_or_null(json, "request", request_of(ask));
    json_bool(json, "waitedFor", ask && ask->waiting);
    json_end_object(json);
}

/* Those that this node has blocks of, and those that it only asks for one. */
static void add_pools(struct json *json, const struct pods_live *live)
{
    AUTOVEC pod_pool_list pools = { 0 };
    const struct block_ask *ask;
    json->out->failed |= plan_pod_pools(live->addresses, &pools) < 0;
    json_begin_array(json, "pools");
    vec_each(const struct pod_pool, pool, &pools)
        add_pool(json, pool, ask_of(live, pool->name));
    for (size_t i = 0; (ask = live->ask(live->context, i)); i++) {
        const struct pod_pool pool = pod_pool_named(&pools, ask->pool);
        if (pool.blocks == 0 && pool.used == 0)
            add_pool(json, &pool, ask);
    }
    json_end_array(json);
}

static void add_blocks(struct json *json, const struct pods_live *live)
{
    json_begin_array(json, "blocks");
    sorted_each(const struct pod_block, block, &live->addresses->blocks)
        add_block(json, live->addresses, block);
    json_end_array(json);
}

static void add_none(struct json *json, const char *key)
{
    json_begin_array(json, key);
    json_end_array(json);
}

static void add_pods(struct json *json, const struct api_state *state,
                     const struct sorted *attachments)
{
    sorted_each(const struct pod_attachment, attachment, attachments)
        add_pod(json, NULL, state, attachment);
}

void view_pods(const struct api_state *state, struct text *out)
{
    struct json json = view_begin(out, "PodList");
    json_begin_array(&json, "items");
    if (state->pods)
        add_pods(&json, state, state->pods->attachments);
    if (state->chained)
        add_pods(&json, state, state->chained);
    json_end_array(&json);
    if (state->pods) {
        add_blocks(&json, state->pods);
        add_pools(&json, state->pods);
    } else {
        add_none(&json, "blocks");
        add_none(&json, "pools");
    }
    view_end(&json);
}
