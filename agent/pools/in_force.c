// SPDX-License-Identifier: Apache-2.0
/*
 * Which edits of pools are accepted; see in_force.h.
 *
 * All edits together are tried first, so that a range may move from one pool to another. If any
 * Service would lose an address by that, each edit is tried by itself, repeatedly until no further
 * one passes: an edit that makes room may come after one that needs it. A Service loses an address
 * if the pools in force permit the address and those of the edit do not; an address that it
 * releases itself, by another request or another class, does not count.
 */
#include "pools/in_force.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/pools.h"
#include "faults/raise.h"
#include "model/fields/encode.h"

enum { LOSERS_SHOWN = 5 };

static void refused_done(struct pools_in_force *pools)
{
    vec_each(struct refused_edit, edit, &pools->refused) {
        free(edit->namespace);
        free(edit->name);
        free(edit->who);
    }
    vec_done(&pools->refused);
}

void pools_in_force_done(struct pools_in_force *pools)
{
    vec_each(struct object *, object, &pools->objects)
        object_free(*object);
    vec_done(&pools->objects);
    refused_done(pools);
}

static int key_cmp(const void *a, const void *b)
{
    return object_key_cmp(*(const struct object *const *)a, *(const struct object *const *)b);
}

int pools_in_force_add(struct pools_in_force *pools, struct object *pool)
{
    if (vec_push(&pools->objects, pool) < 0) {
        object_free(pool);
        return -ENOMEM;
    }
    vec_sort(&pools->objects, key_cmp);
    return 0;
}

const struct object *pools_in_force_find(const struct pools_in_force *pools,
                                         const struct object *object)
{
    struct object *const *found = pools->objects.count
                                      ? bsearch(&object, pools->objects.items, pools->objects.count,
                                                sizeof(*pools->objects.items), key_cmp)
                                      : NULL;
    return found ? *found : NULL;
}

/* A pool that differs between the store and the pools in force. */
struct edit {
    const struct object *from, *to; /* NULL: there is none */
    bool taken;
    uint32_t losers;
    struct text who;
};

typedef VEC(struct edit) edit_list;

static void edits_done(edit_list *edits)
{
    vec_each(struct edit, edit, edits)
        text_done(&edit->who);
    vec_done(edits);
}

struct trial {
    struct pools_in_force *pools;
    const struct pool_holders *holders;
    struct pool_table before;
    edit_list edits;
};

static void trial_done(struct trial *trial)
{
    pool_table_done(&trial->before);
    edits_done(&trial->edits);
}

/* Both lists are in order of key. */
static int find_edits(struct trial *trial, const object_list *wanted)
{
    size_t have = 0, want = 0;
    while (have < trial->pools->objects.count || want < wanted->count) {
        const struct object *from =
            have < trial->pools->objects.count ? trial->pools->objects.items[have] : NULL;
        const struct object *to = want < wanted->count ? wanted->items[want] : NULL;
        int order = !from ? 1 : !to ? -1 : object_key_cmp(from, to);
        have += order <= 0;
        want += order >= 0;
        if (order == 0 && object_equal(from, to))
            continue;
        const struct edit edit = { .from = order <= 0 ? from : NULL, .to = order >= 0 ? to : NULL };
        if (vec_push(&trial->edits, edit) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* What replaces a pool in force after these edits; NULL: nothing. */
static const struct object *after_edit(const struct trial *trial, const struct object *pool,
                                       const struct edit *more)
{
    vec_each(const struct edit, edit, &trial->edits) {
        if (edit->from == pool)
            return edit->taken || edit == more ? edit->to : pool;
    }
    return pool;
}

/* The pools in force, with the accepted edits, and with one more. */
static int list_with(const struct trial *trial, const struct edit *more, object_list *ret_list)
{
    vec_each(struct object *, object, &trial->pools->objects) {
        const struct object *now = after_edit(trial, *object, more);
        if (now && vec_push(ret_list, now) < 0)
            return -ENOMEM;
    }
    vec_each(const struct edit, edit, &trial->edits) {
        if (!edit->from && (edit->taken || edit == more) && vec_push(ret_list, edit->to) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* For a Service that is not in the store, and may yet be added, only the pool is checked. */
static bool is_permitted(const struct trial *trial, const struct pool_table *table,
                         const struct service *service, const struct ip *ip)
{
    if (!service)
        return trial->holders->keep_absent && pool_at(table, ip);
    return assignment_is_for(trial->holders->load_balancer_class, service) &&
           pools_permit(trial->holders->store, table, service, ip) == LACK_NOTHING;
}

static bool loses(const struct trial *trial, const struct pool_table *after,
                  const struct assignment *row)
{
    const struct object *object =
        store_get(trial->holders->store, KIND_SERVICE, row->namespace, row->name);
    const struct service *service = object ? to_service(object) : NULL;
    vec_each(const struct ip, ip, &row->ips) {
        if (is_permitted(trial, &trial->before, service, ip) &&
            !is_permitted(trial, after, service, ip))
            return true;
    }
    return false;
}

/* Counts the Services that would lose an address, and names the first of them. */
static int try_edit(struct trial *trial, struct edit *edit)
{
    AUTOVEC object_list list = { 0 };
    CLEANUP(pool_table_done) struct pool_table after = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    int r = list_with(trial, edit, &list);
    if (r < 0)
        return r;
    r = pool_table_of(&list, &after, &faults);
    if (r < 0)
        return r;
    edit->losers = 0;
    text_done(&edit->who);
    for (size_t i = 0; i < trial->holders->assignments->rows.count; i++) {
        const struct assignment *row = assignment_at(trial->holders->assignments, i);
        if (!loses(trial, &after, row))
            continue;
        if (edit->losers++ < LOSERS_SHOWN)
            text_addf(&edit->who, "%s%s/%s", edit->losers > 1 ? ", " : "", row->namespace,
                      row->name);
    }
    if (edit->losers > LOSERS_SHOWN)
        text_addf(&edit->who, " and %u more", edit->losers - LOSERS_SHOWN);
    return text_error(&edit->who);
}

static void take_all(struct trial *trial, bool taken)
{
    vec_each(struct edit, edit, &trial->edits)
        edit->taken = taken;
}

static int choose(struct trial *trial)
{
    struct edit none = { 0 };
    take_all(trial, true);
    int r = try_edit(trial, &none);
    bool nobody = none.losers == 0;
    text_done(&none.who);
    if (r < 0 || nobody)
        return r;
    take_all(trial, false);
    for (bool again = true; again;) {
        again = false;
        vec_each(struct edit, edit, &trial->edits) {
            if (edit->taken)
                continue;
            r = try_edit(trial, edit);
            if (r < 0)
                return r;
            again |= edit->taken = edit->losers == 0;
        }
    }
    return 0;
}

static int note_refused(struct pools_in_force *to, const struct edit *edit)
{
    const struct object *object = edit->to ? edit->to : edit->from;
    struct refused_edit refused = {
        .namespace = strdup(object->namespace),
        .name = strdup(object->name),
        .removal = !edit->to,
        .losers = edit->losers,
        .who = strdup(text_str(&edit->who)),
    };
    if (refused.namespace && refused.name && refused.who && vec_push(&to->refused, refused) == 0)
        return 0;
    free(refused.namespace);
    free(refused.name);
    free(refused.who);
    return -ENOMEM;
}

/* The next pools in force: copies, since the store's objects are freed at the next edit. */
static int make_next(const struct trial *trial, struct pools_in_force *ret_next)
{
    AUTOVEC object_list list = { 0 };
    int r = list_with(trial, NULL, &list);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &list) {
        struct object *copy = NULL;
        r = object_copy(*object, &copy);
        if (r < 0)
            return r;
        r = pools_in_force_add(ret_next, copy);
        if (r < 0)
            return r;
    }
    vec_each(const struct edit, edit, &trial->edits) {
        r = edit->taken ? 0 : note_refused(ret_next, edit);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The objects in force keep their addresses in memory unless they change: they are borrowed. */
static bool take_over(struct pools_in_force *pools, struct pools_in_force *next,
                      const edit_list *edits)
{
    bool changed = false;
    vec_each(const struct edit, edit, edits)
        changed |= edit->taken;
    const struct pools_in_force old = *pools;
    pools->refused = next->refused;
    next->refused = old.refused;
    if (changed) {
        pools->objects = next->objects;
        next->objects = old.objects;
    }
    return changed;
}

int pools_in_force_update(struct pools_in_force *pools, const struct pool_holders *holders)
{
    CLEANUP(trial_done)
    struct trial trial = {
        .pools = pools,
        .holders = holders,
    };
    CLEANUP(pools_in_force_done) struct pools_in_force next = { 0 };
    AUTOVEC object_list wanted = { 0 }, now = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    int r = store_list(holders->store, KIND_IP_POOL, &wanted);
    if (r < 0)
        return r;
    r = find_edits(&trial, &wanted);
    if (r < 0)
        return r;
    if (trial.edits.count == 0 && pools->refused.count == 0)
        return 0;
    r = list_with(&trial, NULL, &now);
    if (r < 0)
        return r;
    r = pool_table_of(&now, &trial.before, &faults);
    if (r < 0)
        return r;
    r = choose(&trial);
    if (r < 0)
        return r;
    r = make_next(&trial, &next);
    if (r < 0)
        return r;
    return take_over(pools, &next, &trial.edits);
}

const struct refused_edit *pools_in_force_refused(const struct pools_in_force *pools,
                                                  const struct object *pool)
{
    vec_each(const struct refused_edit, edit, &pools->refused) {
        if (strcmp(edit->name, pool->name) == 0 && strcmp(edit->namespace, pool->namespace) == 0)
            return edit;
    }
    return NULL;
}

void pools_in_force_faults(const struct pools_in_force *pools, struct faults *faults)
{
    vec_each(const struct refused_edit, edit, &pools->refused) {
        AUTOFREE char *place = text_format("IPAddressPool %s/%s", edit->namespace, edit->name);
        fault_raise(faults, place, pool_edit_refused,
                    .what = edit->removal ? "its removal" : "its edit", .losers = edit->losers,
                    .services = edit->who);
    }
}
