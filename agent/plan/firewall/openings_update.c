// SPDX-License-Identifier: Apache-2.0
/* The openings of all Services; see openings_update.h. Called by the firewall engine. */
#include "plan/firewall/openings_update.h"

#include <errno.h>
#include <string.h>

int openings_row_cmp(const void *a, const void *b)
{
    const struct openings_row *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

static void row_done(struct openings_row *row)
{
    free(row->namespace);
    free(row->name);
    vec_done(&row->openings);
}

void openings_rows_done(struct sorted *rows)
{
    sorted_each(struct openings_row, row, rows) {
        row_done(row);
    }
    sorted_done(rows);
}

static bool is_same(const opening_list *a, const opening_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = opening_cmp(&a->items[i], &b->items[i]) == 0;
    return same;
}

static int add_row(struct sorted *rows, const struct nat_key *key, opening_list *openings)
{
    CLEANUP(row_done)
    struct openings_row row = { .namespace = strdup(key->namespace), .name = strdup(key->name) };
    if (!row.namespace || !row.name || sorted_put(rows, &row) < 0)
        return -ENOMEM;
    (void)TAKE_STRUCT(row);
    const struct openings_row find = { (char *)key->namespace, (char *)key->name, { 0 } };
    struct openings_row *kept = sorted_find(rows, &find);
    vec_move(&kept->openings, openings);
    return 1;
}

/* Returns 1 if the row was changed, added or deleted. */
static int take(struct sorted *rows, const struct nat_key *key, opening_list *openings)
{
    const struct openings_row find = { (char *)key->namespace, (char *)key->name, { 0 } };
    struct openings_row *known = sorted_find(rows, &find);
    if (!known)
        return openings->count ? add_row(rows, key, openings) : 0;
    if (is_same(&known->openings, openings))
        return 0;
    if (openings->count) {
        vec_move(&known->openings, openings);
        return 1;
    }
    struct openings_row gone = *known;
    sorted_remove(rows, &gone);
    row_done(&gone);
    return 1;
}

static int update_one(const struct node_facts *facts, const struct nat_key *key,
                      struct sorted *rows)
{
    AUTOVEC opening_list openings = { 0 };
    const struct object *object = store_get(facts->store, KIND_SERVICE, key->namespace, key->name);
    int r = object ? plan_openings(facts, to_service(object), &openings) : 0;
    return r < 0 ? r : take(rows, key, &openings);
}

/* Updates deleted and existing Services: deleted ones first, since their rows own the names. */
static int update_all(const struct node_facts *facts, struct sorted *rows)
{
    AUTOVEC object_list services = { 0 };
    bool changed = false;
    for (size_t i = rows->count; i-- > 0;) {
        struct openings_row row = *(struct openings_row *)sorted_at(rows, i);
        if (store_get(facts->store, KIND_SERVICE, row.namespace, row.name))
            continue;
        sorted_remove(rows, &row);
        row_done(&row);
        changed = true;
    }
    int r = store_list(facts->store, KIND_SERVICE, &services);
    for (size_t i = 0; r >= 0 && i < services.count; i++) {
        const struct object *object = services.items[i];
        r = update_one(facts, &(struct nat_key){ object->namespace, object->name }, rows);
        changed |= r > 0;
    }
    return r < 0 ? r : changed;
}

int openings_update(const struct node_facts *facts, const nat_key_list *keys, bool all,
                    struct sorted *rows)
{
    bool changed = false;
    if (all)
        return update_all(facts, rows);
    vec_each(const struct nat_key, key, keys) {
        int r = update_one(facts, key, rows);
        if (r < 0)
            return r;
        changed |= r > 0;
    }
    return changed;
}
