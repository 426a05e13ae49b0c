// SPDX-License-Identifier: Apache-2.0
/*
 * The document PoolList: pools of LoadBalancer addresses in force, how full each is, who has which
 * address, which ones rest, and who lacks one. Also what explanations say of an address of a pool.
 */
#include "api/pools/view_pools.h"

#include <string.h>

#include "api/document.h"
#include "api/pools/view_assignments.h"
#include "plan/pools/assignment_table.h"

static void write_refused(struct json *json, const struct refused_edit *edit)
{
    if (!edit) {
        json_null(json, "refused");
        return;
    }
    json_begin_object(json, "refused");
    json_bool(json, "removal", edit->removal);
    json_int(json, "losers", edit->losers);
    json_string(json, "services", edit->who);
    json_end_object(json);
}

static void write_reserved(struct json *json, const struct ip_pool *pool)
{
    char text[IP_RANGE_STRLEN];
    json_begin_array(json, "reservedRanges");
    for (uint32_t i = 0; i < pool->reserved_count; i++)
        json_string(json, NULL, ip_range_str(&pool->reserved[i], text));
    json_end_array(json);
}

static void write_key(struct json *json, const char *namespace, const char *name)
{
    json_begin_object(json, NULL);
    json_string(json, "namespace", namespace);
    json_string(json, "name", name);
    json_end_object(json);
}

/* Who has it, or had it last. */
static void write_users(struct json *json, const struct assignments *assignments,
                        const struct ip *ip, const struct rest *rest)
{
    const struct use *use;
    json_begin_array(json, "services");
    for (size_t at = use_from(assignments, ip); (use = use_at(assignments, at, ip)); at++)
        write_key(json, use->row->namespace, use->row->name);
    if (rest)
        write_key(json, rest->namespace, rest->name);
    json_end_array(json);
    json_time(json, "freedAt", rest ? rest->freed_ms : 0);
}

static void write_address(struct json *json, const struct assignments *assignments,
                          const struct ip *ip, const struct rest *rest)
{
    char text[IP_STRLEN];
    json_begin_object(json, NULL);
    json_string(json, "address", ip_str(ip, text));
    json_string(json, "state", rest ? "resting" : "used");
    write_users(json, assignments, ip, rest);
    json_end_object(json);
}

static void write_addresses(struct json *json, const struct api_state *state,
                            const struct pool *pool)
{
    const struct assignments *assignments = state->assignments;
    const struct ip *last = NULL;
    json_begin_array(json, "addresses");
    sorted_each(const struct use, use, &assignments->uses) {
        if (!(last && ip_equal(last, &use->ip)) && pool_at(state->pools, &use->ip) == pool)
            write_address(json, assignments, &use->ip, NULL);
        last = &use->ip;
    }
    for (size_t i = 0; i < rests_count(&assignments->rests); i++) {
        const struct rest *rest = rest_at(&assignments->rests, i);
        if (pool_at(state->pools, &rest->ip) == pool)
            write_address(json, assignments, &rest->ip, rest);
    }
    json_end_array(json);
}

void view_pools(const struct api_state *state, struct text *out)
{
    struct json json = view_begin(out, "PoolList");
    json_begin_array(&json, "items");
    vec_each(const struct pool, pool, &state->pools->pools) {
        json_begin_object(&json, NULL);
        write_pool(&json, state, pool);
        write_refused(&json,
                      pools_in_force_refused(&state->allocator->pools, &pool->object->object));
        write_reserved(&json, pool->object);
        write_addresses(&json, state, pool);
        json_end_object(&json);
    }
    json_end_array(&json);
    write_pending(&json, state->assignments, NULL);
    view_end(&json);
}

/* ---- One address ---- */

static const struct {
    const char *state, *known, *text;
} pool_states[] = {
    { "used", "pool-used", "given out of a pool" },
    { "resting", "pool-resting", "of a pool; a Service has given it up, and it rests" },
    { "reserved", "pool-reserved", "of a pool, and kept for a Service that asks for it by name" },
    { "free", "pool-free", "of a pool, and no Service has it" },
    { "avoided", "pool-avoided", "of a pool that gives it to nobody (avoidBuggyIPs)" },
};

/* The index of what the address is; -1: it is of no pool, or nobody gives addresses here. */
static int pool_state(const struct api_state *state, const struct ip *ip)
{
    const struct pool *pool = state->allocator ? pool_at(state->pools, ip) : NULL;
    if (!pool)
        return -1;
    if (is_used(state->assignments, ip))
        return 0;
    if (rest_find(&state->assignments->rests, ip))
        return 1;
    if (pool_avoids(pool, ip))
        return 4;
    return pool_reserves(pool, ip) ? 2 : 3;
}

const char *pool_knows_address(const struct api_state *state, const struct ip *ip,
                               const char **ret_text)
{
    int index = pool_state(state, ip);
    if (index < 0)
        return NULL;
    *ret_text = pool_states[index].text;
    return pool_states[index].known;
}

void write_pool_explanation(struct json *json, const struct api_state *state, const struct ip *ip)
{
    int index = pool_state(state, ip);
    if (index < 0) {
        json_null(json, "pool");
        return;
    }
    const struct object *pool = &pool_at(state->pools, ip)->object->object;
    const struct rest *rest = rest_find(&state->assignments->rests, ip);
    json_begin_object(json, "pool");
    json_string(json, "namespace", pool->namespace);
    json_string(json, "name", pool->name);
    json_string(json, "state", pool_states[index].state);
    write_users(json, state->assignments, ip, rest);
    write_pending(json, state->assignments, ip);
    json_end_object(json);
}
