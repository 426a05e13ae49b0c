// SPDX-License-Identifier: Apache-2.0
/*
 * Compares plan, KV and markers; see export_diff.h. Called by the controller's job for documents,
 * with its target's content. A pure function: the caller keeps what was held back, and for how
 * long.
 */
#include "plan/export/export_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "faults/export.h"
#include "faults/raise.h"
#include "format/reader.h"

enum { ARENA_SIZE = 16 * 1024 };

/* Three sorted lists, and the position in each. */
struct walk {
    const struct export_plan *plan;
    const export_entries *have;
    const struct export_hold *hold;
    struct export_diff *diff;
    struct faults *faults;
    struct text marker_prefix, nodes_key;
    size_t skip; /* of a document's key: "PREFIX/", which its marker's key omits */
    size_t first_marker, markers_end; /* in `have` */
    size_t document, entry, marker;   /* the next of each */
    VEC(struct export_op) removals;
};

/* The entries of the three lists for one key. */
struct spot {
    const char *key; /* of the document; NULL: only a marker exists */
    const struct export_document *wanted;
    const struct export_entry *entry, *marker;
};

int export_entry_cmp(const void *a, const void *b)
{
    const struct export_entry *left = a, *right = b;
    return strcmp(left->key, right->key);
}

static int refusal_owner_cmp(const void *a, const void *b)
{
    const struct export_refusal *left = a, *right = b;
    return strcmp(left->owner, right->owner);
}

int export_marker_prefix(const struct export_config *config, struct text *out)
{
    text_addf(out, "%s/fingerpost/%s/", config->prefix, config->cluster);
    return text_error(out);
}

static bool is_marker(const struct walk *walk, const struct export_entry *entry)
{
    return strncmp(entry->key, text_str(&walk->marker_prefix), walk->marker_prefix.length) == 0;
}

static void find_markers(struct walk *walk)
{
    size_t i = 0;
    while (i < walk->have->count && !is_marker(walk, &walk->have->items[i]))
        i++;
    walk->first_marker = walk->marker = walk->markers_end = i;
    while (walk->markers_end < walk->have->count &&
           is_marker(walk, &walk->have->items[walk->markers_end]))
        walk->markers_end++;
}

static int push(struct walk *walk, struct export_op op)
{
    return vec_push(&walk->diff->ops, op);
}

static int tell(struct walk *walk, const struct spot *spot, enum export_state state)
{
    return vec_push(
        &walk->diff->standings,
        (struct export_standing){
            .key = spot->key,
            .owner = spot->wanted ? export_document_owner(spot->wanted) : spot->marker->value,
            .wanted = spot->wanted,
            .entry = spot->entry,
            .state = state,
        });
}

/* The marker's own key, whether or not it exists. */
static const char *marker_key(struct walk *walk, const struct spot *spot)
{
    if (spot->marker)
        return spot->marker->key;
    AUTOFREE char *key =
        text_format("%s%s", text_str(&walk->marker_prefix), spot->key + walk->skip);
    return key ? arena_strdup(walk->diff->arena, key) : NULL;
}

static int mark(struct walk *walk, const struct spot *spot)
{
    const char *owner = export_document_owner(spot->wanted), *key = marker_key(walk, spot);
    if (!key)
        return -ENOMEM;
    if (spot->marker && spot->marker->length == strlen(owner) &&
        memcmp(spot->marker->value, owner, spot->marker->length) == 0)
        return 0;
    return push(walk, (struct export_op){
                          .marker = true,
                          .key = key,
                          .value = owner,
                          .index = spot->marker ? spot->marker->index : 0,
                      });
}

static void foreign_fault(struct walk *walk, const struct spot *spot)
{
    AUTOFREE char *place = text_format("key %s", spot->key);
    fault_raise(walk->faults, place, export_key_foreign,
                .owner = *spot->wanted->owner ? spot->wanted->owner : "the list of nodes");
}

/* The number of elements of a list; 0: no list. */
static size_t list_size(const char *text, size_t length)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    if (document_parse(text, length, "nodes", READER_JSON, &document, &faults) != 1)
        return 0;
    return document->root->type == DOC_LIST ? document->root->count : 0;
}

/* Whether a list of `before` elements that loses `gone` more loses too many within the hold-down,
 * in which it was no longer than `most`. `ret_missing`: how many it lacks then. */
static bool is_too_much(const struct export_hold *hold, size_t most, size_t before, size_t gone,
                        size_t *ret_missing)
{
    size_t longest = MAX(most, before);
    size_t missing = longest - (before - gone);
    *ret_missing = missing;
    return gone > 0 && (missing == longest || missing * 100 > longest * hold->shrink_percent);
}

static bool is_list_of_nodes(const struct walk *walk, const struct spot *spot)
{
    return spot->entry && strcmp(spot->key, text_str(&walk->nodes_key)) == 0;
}

/* Whether the list of nodes would lose too many. */
static bool shrinks(const struct walk *walk, const struct spot *spot)
{
    if (walk->hold->nodes || !is_list_of_nodes(walk, spot))
        return false;
    size_t before = walk->diff->nodes, missing;
    size_t after = list_size(spot->wanted->value, strlen(spot->wanted->value));
    return after < before &&
           is_too_much(walk->hold, walk->hold->most_nodes, before, before - after, &missing);
}

/* Processes a planned document, whether or not it exists. */
static int want(struct walk *walk, const struct spot *spot)
{
    const struct export_entry *entry = spot->entry;
    int same = entry ? export_same(spot->wanted->value, entry->value, entry->length) : 0;
    if (same == -ENOMEM)
        return same;
    if (same == -EBADMSG && !spot->marker) {
        foreign_fault(walk, spot);
        return tell(walk, spot, EXPORT_BLOCKED);
    }
    walk->diff->owned++;
    if (is_list_of_nodes(walk, spot))
        walk->diff->nodes = list_size(entry->value, entry->length);
    bool held = same == 0 && shrinks(walk, spot);
    walk->diff->held_nodes |= held;
    int r = tell(walk, spot, same == 1 ? EXPORT_CURRENT : held ? EXPORT_HELD : EXPORT_PENDING);
    if (r < 0)
        return r;
    if (same != 1 && !held)
        r = push(walk, (struct export_op){
                           .nodes = !*spot->wanted->id,
                           .key = spot->key,
                           .value = spot->wanted->value,
                           .index = entry ? entry->index : 0,
                       });
    return r < 0 ? r : mark(walk, spot);
}

/* Whether the owner in a marker is a Service that is now refused: its documents stay. */
static bool is_kept(const struct walk *walk, const struct export_entry *marker)
{
    const struct export_refusal key = { .owner = marker->value };
    return vec_find(&walk->plan->refusals, &key, refusal_owner_cmp) != NULL;
}

/* Processes a key with a marker that is not planned. */
static int unwant(struct walk *walk, const struct spot *spot)
{
    struct export_op marker = {
        .remove = true,
        .marker = true,
        .key = spot->marker->key,
        .index = spot->marker->index,
    };
    if (!spot->entry)
        return push(walk, marker);
    walk->diff->owned++;
    if (is_kept(walk, spot->marker)) {
        walk->diff->kept_documents++;
        return tell(walk, spot, EXPORT_KEPT);
    }
    int r = tell(walk, spot, EXPORT_GOING);
    if (r < 0)
        return r;
    r = vec_push(&walk->removals, (struct export_op){
                                      .remove = true,
                                      .nodes = is_list_of_nodes(walk, spot),
                                      .key = spot->key,
                                      .index = spot->entry->index,
                                  });
    return r < 0 ? r : vec_push(&walk->removals, marker);
}

static void hold_removals(struct export_diff *diff)
{
    vec_each(struct export_standing, standing, &diff->standings) {
        if (standing->state == EXPORT_GOING)
            standing->state = EXPORT_HELD;
    }
}

/* Adds the removals last, and only if they are not too many. */
static int release(struct walk *walk)
{
    struct export_diff *diff = walk->diff;
    size_t gone = walk->removals.count / 2, missing;
    if (is_too_much(walk->hold, walk->hold->most_documents, diff->owned, gone, &missing) &&
        missing >= EXPORT_HOLD_MIN && !walk->hold->documents) {
        diff->held_documents = gone;
        hold_removals(diff);
        return 0;
    }
    return vec_append(&diff->ops, &walk->removals);
}

/* The common part of the keys of a document and its marker; NULL: the list has ended. */
static const char *rest_of_document(const struct walk *walk)
{
    return walk->document < walk->plan->documents.count
               ? walk->plan->documents.items[walk->document].key + walk->skip
               : NULL;
}

static const char *rest_of_entry(struct walk *walk)
{
    if (walk->entry == walk->first_marker)
        walk->entry = walk->markers_end;
    return walk->entry < walk->have->count ? walk->have->items[walk->entry].key + walk->skip : NULL;
}

static const char *rest_of_marker(const struct walk *walk)
{
    return walk->marker < walk->markers_end
               ? walk->have->items[walk->marker].key + walk->marker_prefix.length
               : NULL;
}

static const char *lesser(const char *a, const char *b)
{
    return !a || (b && strcmp(b, a) < 0) ? b : a;
}

static bool is_at(const char *rest, const char *least)
{
    return rest && strcmp(rest, least) == 0;
}

/* The entries of the next key. Returns false at the end of the lists. */
static bool next_spot(struct walk *walk, struct spot *ret_spot)
{
    const char *document = rest_of_document(walk), *entry = rest_of_entry(walk);
    const char *marker = rest_of_marker(walk);
    const char *least = lesser(lesser(document, entry), marker);
    if (!least)
        return false;
    struct spot spot = { 0 };
    if (is_at(marker, least))
        spot.marker = &walk->have->items[walk->marker++];
    if (is_at(entry, least)) {
        spot.entry = &walk->have->items[walk->entry++];
        spot.key = spot.entry->key;
    }
    if (is_at(document, least)) {
        spot.wanted = &walk->plan->documents.items[walk->document++];
        spot.key = spot.wanted->key;
    }
    *ret_spot = spot;
    return true;
}

static int walk_all(struct walk *walk)
{
    struct spot spot;
    find_markers(walk);
    while (next_spot(walk, &spot)) {
        int r = spot.wanted ? want(walk, &spot) : spot.marker ? unwant(walk, &spot) : 0;
        if (r < 0)
            return r;
    }
    return release(walk);
}

static void walk_done(struct walk *walk)
{
    text_done(&walk->marker_prefix);
    text_done(&walk->nodes_key);
    vec_done(&walk->removals);
}

int export_diff(const struct export_config *config, const struct export_plan *plan,
                const export_entries *have, const struct export_hold *hold,
                struct export_diff *ret_diff, struct faults *faults)
{
    CLEANUP(export_diff_done) struct export_diff diff = { .arena = arena_new(ARENA_SIZE) };
    CLEANUP(walk_done)
    struct walk walk = {
        .plan = plan,
        .have = have,
        .hold = hold,
        .diff = &diff,
        .faults = faults,
        .skip = strlen(config->prefix) + 1,
    };
    int r = diff.arena ? export_marker_prefix(config, &walk.marker_prefix) : -ENOMEM;
    if (r < 0)
        return r;
    r = export_nodes_key(config, &walk.nodes_key);
    if (r < 0)
        return r;
    r = walk_all(&walk);
    if (r < 0)
        return r;
    *ret_diff = TAKE_STRUCT(diff);
    return 0;
}

void export_diff_done(struct export_diff *diff)
{
    vec_done(&diff->ops);
    vec_done(&diff->standings);
    arena_free(diff->arena);
    diff->arena = NULL;
}
