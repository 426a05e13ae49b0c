// SPDX-License-Identifier: Apache-2.0
/*
 * Plans the requested Services, one after the other; see nat_update.h.
 *
 * The NAT engine calls plan_nat_update() with the Services that a change affects, and with all of
 * them in a full pass; plan_nat() does the same without existing rows. At most one new row exists
 * at a time, unless the callback takes it: in a full pass most of them equal the existing rows.
 */
#include "plan/nat/nat_update.h"

#include <errno.h>
#include <string.h>

static int key_cmp(const void *a, const void *b)
{
    const struct nat_key *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

/* Every Service that exists, or has a row. */
static int add_all_keys(const struct store *store, const struct sorted *rows, nat_key_list *keys)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    size_t more = services.count + rows->count;
    if (more && vec_reserve(keys, more) < 0)
        return -ENOMEM;
    vec_each(const struct object *, object, &services)
        keys->items[keys->count++] = (struct nat_key){ (*object)->namespace, (*object)->name };
    sorted_each(struct nat_row *const, row, rows)
        keys->items[keys->count++] = (struct nat_key){ (*row)->namespace, (*row)->name };
    return 0;
}

static struct nat_row *row_of(const struct sorted *rows, const struct nat_key *key)
{
    struct nat_row name = { .namespace = (char *)key->namespace, .name = (char *)key->name };
    struct nat_row *wanted = &name, **found = sorted_find(rows, &wanted);
    return found ? *found : NULL;
}

static void planned_done(struct nat_planned *planned)
{
    nat_row_free(planned->after);
    faults_done(&planned->faults);
}

static int plan_one(const struct node_facts *facts, const struct sorted *rows,
                    const struct nat_key *key, nat_planned_fn each, void *context)
{
    const struct object *object = store_get(facts->store, KIND_SERVICE, key->namespace, key->name);
    CLEANUP(planned_done) struct nat_planned planned = { *key, .before = row_of(rows, key) };
    int r =
        object ? plan_nat_service(facts, to_service(object), &planned.after, &planned.faults) : 0;
    return r < 0 ? r : each(context, &planned);
}

int plan_nat_update(const struct node_facts *facts, const struct sorted *rows, bool all,
                    nat_key_list *keys, nat_planned_fn each, void *context)
{
    int r = all ? add_all_keys(facts->store, rows, keys) : 0;
    if (r < 0)
        return r;
    vec_sort(keys, key_cmp);
    vec_drop_equal(keys, key_cmp);
    vec_each(const struct nat_key, key, keys) {
        r = plan_one(facts, rows, key, each, context);
        if (r != 0)
            return r;
    }
    return 0;
}

struct collection {
    struct sorted *rows;
    struct faults *faults;
};

static int collect(void *context, struct nat_planned *planned)
{
    struct collection *collection = context;
    faults_take(collection->faults, &planned->faults);
    int r = planned->after ? sorted_put(collection->rows, &planned->after) : 0;
    if (r < 0)
        return r;
    planned->after = NULL;
    return 0;
}

int plan_nat(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults)
{
    static const struct sorted none = SORTED(struct nat_row *, nat_row_cmp);
    CLEANUP(nat_rows_done) struct sorted rows = SORTED(struct nat_row *, nat_row_cmp);
    AUTOVEC nat_key_list keys = { 0 };
    struct collection collection = { &rows, faults };
    int r = plan_nat_update(facts, &none, true, &keys, collect, &collection);
    if (r < 0)
        return r;
    *ret_rows = TAKE_STRUCT(rows);
    return 0;
}
