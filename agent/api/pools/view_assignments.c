// SPDX-License-Identifier: Apache-2.0
/*
 * Pools and assignments for documents. A number of addresses that is not known any more, because
 * it does not fit into 64 bits, is null: nobody counts a /64.
 */
#include "api/pools/view_assignments.h"

#include "base/macro.h"

static void write_number(struct json *json, const char *key, uint64_t number)
{
    if (number > INT64_MAX)
        json_null(json, key);
    else
        json_int(json, key, (int64_t)number);
}

void write_pool(struct json *json, const struct api_state *state, const struct pool *pool)
{
    struct pool_use use;
    json->out->failed |= pool_use_count(state->assignments, state->pools, pool, &use) < 0;
    json_string(json, "namespace", pool->object->object.namespace);
    json_string(json, "name", pool->object->object.name);
    json_bool(json, "autoAssign", pool->object->auto_assign);
    write_number(json, "size", pool_use_sum(use.size));
    write_number(json, "used", pool_use_sum(use.used));
    write_number(json, "resting", pool_use_sum(use.resting));
    write_number(json, "reserved", pool_use_sum(use.reserved));
    write_number(json, "free", pool_use_sum(use.free));
}

/* Members of an object that is open. */
static void write_why(struct json *json, const struct lack *lack, const char *family)
{
    char ip[IP_STRLEN];
    if (family)
        json_string(json, "family", family);
    if (lack->ip.family == IP_NONE)
        json_null(json, "address");
    else
        json_string(json, "address", ip_str(&lack->ip, ip));
    json_string(json, "reason", lack_reason_name(lack->reason));
    json_string(json, "reasonText", lack_reason_text(lack->reason));
    if (lack->of)
        json_string(json, "of", lack->of);
    else
        json_null(json, "of");
}

static void write_lack(struct json *json, const struct lack *lack, const char *family)
{
    json_begin_object(json, NULL);
    write_why(json, lack, family);
    json_end_object(json);
}

static const char *family_of(size_t index)
{
    return index ? "IPv6" : "IPv4";
}

void write_lacks(struct json *json, const char *key, const struct assignment *assignment)
{
    json_begin_array(json, key);
    for (size_t i = 0; assignment && i < ARRAY_SIZE(assignment->lacks); i++) {
        if (assignment->lacks[i].reason)
            write_lack(json, &assignment->lacks[i], family_of(i));
    }
    json_end_array(json);
}

void write_pending(struct json *json, const struct assignments *assignments, const struct ip *ip)
{
    json_begin_array(json, "pending");
    sorted_each(struct assignment *const, row, &assignments->pending) {
        for (size_t i = 0; i < ARRAY_SIZE((*row)->lacks); i++) {
            const struct lack *lack = &(*row)->lacks[i];
            if (!lack->reason || (ip && !ip_equal(&lack->ip, ip)))
                continue;
            json_begin_object(json, NULL);
            json_string(json, "namespace", (*row)->namespace);
            json_string(json, "name", (*row)->name);
            write_why(json, lack, family_of(i));
            json_end_object(json);
        }
    }
    json_end_array(json);
}

static void write_assignment(struct json *json, const struct assignment *assignment)
{
    json_begin_object(json, NULL);
    json_string(json, "namespace", assignment->namespace);
    json_string(json, "name", assignment->name);
    json_begin_array(json, "addresses");
    vec_each(const struct ip, ip, &assignment->ips) {
        char text[IP_STRLEN];
        json_string(json, NULL, ip_str(ip, text));
    }
    json_end_array(json);
    write_lacks(json, "pending", assignment);
    json_begin_array(json, "lost");
    vec_each(const struct lack, lost, &assignment->lost)
        write_lack(json, lost, NULL);
    json_end_array(json);
    json_end_object(json);
}

void write_assignments(struct json *json, const struct api_state *state)
{
    json_begin_array(json, "pools");
    for (size_t i = 0; state->pools && i < state->pools->pools.count; i++) {
        json_begin_object(json, NULL);
        write_pool(json, state, &state->pools->pools.items[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_begin_array(json, "assignments");
    for (size_t i = 0; state->assignments && i < state->assignments->rows.count; i++)
        write_assignment(json, assignment_at(state->assignments, i));
    json_end_array(json);
}
