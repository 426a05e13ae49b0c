// SPDX-License-Identifier: Apache-2.0
/*
 * Refused packets, as documents show them: per Service and reason how many, and the last one.
 *
 * The map counts by id; a name is looked up once per entry (there are at most some thousand). An
 * entry whose id is nobody's by now belonged to a Service that is gone, and is left out.
 */
#include "api/refusals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/nat/last_packet.h"
#include "api/view.h"
#include "base/macro.h"

static int latest_first(const void *left, const void *right)
{
    const struct named_refusal *a = left, *b = right;
    int r = CMP(b->refusal.last.mono_ms, a->refusal.last.mono_ms);
    if (r != 0)
        return r;
    r = strcmp(a->service, b->service);
    return r ? r : CMP(a->refusal.cause, b->refusal.cause);
}

static int by_service(const void *left, const void *right)
{
    const struct named_refusal *a = left, *b = right;
    int r = strcmp(a->service, b->service);
    return r ? r : latest_first(a, b);
}

int refusal_set_load(const struct api_state *state, refusal_set *ret_set)
{
    AUTOVEC nat_refusal_list list = { 0 };
    CLEANUP(refusal_set_done) refusal_set set = { 0 };
    const struct nat_live *live = state->live;
    char name[NAT_NAME_MAX];

    int r = live ? live->refusals(live->context, &list) : 0;
    if (r < 0)
        return r;
    r = vec_reserve(&set, list.count);
    if (r < 0)
        return r;
    vec_each(const struct nat_refusal, refusal, &list) {
        const char *service =
            refusal->service ? live->service_name(live->context, refusal->service, name) : "";
        if (refusal->service && !*service)
            continue;
        struct named_refusal item = { *refusal, strdup(service) };
        if (!item.service)
            return -ENOMEM;
        set.items[set.count++] = item;
    }
    vec_sort(&set, by_service);
    *ret_set = TAKE_STRUCT(set);
    return 0;
}

void refusal_set_done(refusal_set *set)
{
    vec_each(struct named_refusal, item, set)
        free(item->service);
    vec_done(set);
}

void write_refusal(struct json *json, const struct api_state *state,
                   const struct named_refusal *refusal)
{
    json_begin_object(json, NULL);
    json_string(json, "service", *refusal->service ? refusal->service : NULL);
    json_string(json, "reason", nat_cause_name(refusal->refusal.cause));
    json_string(json, "reasonText", nat_cause_text(refusal->refusal.cause));
    json_int(json, "count", (int64_t)refusal->refusal.count);
    write_last_packet(json, state, &refusal->refusal.last);
    json_end_object(json);
}

/* The first item of a Service, or where it would stand. */
static size_t find_service(const refusal_set *set, const char *service)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(set->items[middle].service, service) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void write_refusals_of(struct json *json, const struct api_state *state, const refusal_set *set,
                       const char *namespace, const char *name)
{
    AUTOFREE char *service = text_format("%s/%s", namespace, name);

    if (!service) {
        json->out->failed = true;
        return;
    }
    json_begin_array(json, "refusals");
    for (size_t i = find_service(set, service);
         i < set->count && strcmp(set->items[i].service, service) == 0; i++)
        write_refusal(json, state, &set->items[i]);
    json_end_array(json);
}

void refusal_set_sort_latest(refusal_set *set)
{
    vec_sort(set, latest_first);
}
