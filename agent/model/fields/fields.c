// SPDX-License-Identifier: Apache-2.0
/*
 * The fields that objects may have; see fields.h.
 *
 * Nobody has looked at a manifest before us: an `externalTrafficpolicy` there would be read as
 * none, and its Service be open to what it was to be closed to. The kinds' tables (field.h) have,
 * for the maps from which we read, all that Kubernetes knows there, so that a field of its own is
 * not taken for a misspelt one of another name.
 *
 * The API server drops what it does not know of its own kinds, and of everybody's metadata: a field
 * that comes from it and is not in the table is one of a later Kubernetes, however it is spelt. So
 * of what the API says only custom resources are looked at, since a CRD may keep all that it gets.
 */
#include "model/fields/fields.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "format/quote.h"
#include "model/fields/spelling.h"

enum { WORD_MAX = 64, PATH_LEN = 80, PLACES_MAX = 12 };

static const struct field metadata[] = {
    END("annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers "
        "generateName generation labels managedFields name namespace ownerReferences "
        "resourceVersion selfLink uid clusterName"),
};

/* A map of a kind: its place, and what it may have; PLACES_MAX of one kind. */
struct place {
    char path[PATH_LEN];
    const struct field *fields;
    size_t field_count;
    const char *words;
};

struct places {
    struct place items[PLACES_MAX];
    size_t count;
};

/* The maps in a table, each before those in it. */
static void add_places(struct places *places, const char *path, const struct field *fields)
{
    const struct field *end = field_end(fields);
    if (end->others && places->count < PLACES_MAX) {
        struct place *place = &places->items[places->count++];
        *place = (struct place){ .fields = fields,
                                 .field_count = (size_t)(end - fields),
                                 .words = end->others };
        (void)snprintf(place->path, sizeof(place->path), "%s", path);
    }
    for (; fields < end; fields++) {
        char below[PATH_LEN];
        if (!fields->key || !fields->fields)
            continue;
        (void)snprintf(below, sizeof(below), "%s%s%s%s", path, *path ? "." : "", fields->key,
                       fields->listed || fields->count_size ? ".*" : "");
        add_places(places, below, fields->fields);
    }
}

/* The next of the words between blanks. False: there is none. */
static bool next_word(const char **words, char word[static WORD_MAX])
{
    *words += strspn(*words, " ");
    size_t length = strcspn(*words, " ");
    if (length == 0)
        return false;
    length = MIN(length, (size_t)WORD_MAX - 1);
    memcpy(word, *words, length);
    word[length] = '\0';
    *words += length;
    return true;
}

static bool has_word(const char *words, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = words; length && (at = strstr(at, key)); at += length) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool has_field(const struct place *place, const char *key)
{
    for (size_t i = 0; i < place->field_count; i++) {
        if (place->fields[i].key && strcmp(place->fields[i].key, key) == 0)
            return true;
    }
    return has_word(place->words, key);
}

static bool find_meant(const struct place *place, const char *key, char word[static WORD_MAX])
{
    for (size_t i = 0; i < place->field_count; i++) {
        if (place->fields[i].key && spelled_like(key, place->fields[i].key)) {
            (void)snprintf(word, WORD_MAX, "%s", place->fields[i].key);
            return true;
        }
    }
    for (const char *words = place->words; next_word(&words, word);) {
        if (spelled_like(key, word))
            return true;
    }
    return false;
}

/* Another map that has this field; NULL: none of this kind has. */
static const struct place *find_other(const struct places *places, const struct place *own,
                                      const char *key)
{
    for (size_t i = 0; i < places->count; i++) {
        if (&places->items[i] != own && has_field(&places->items[i], key))
            return &places->items[i];
    }
    return NULL;
}

/* What is looked at: a map, and the others of its kind. */
struct look {
    struct decoder *decoder;
    const struct places *places;
    const struct place *place;
};

static void check_member(const struct look *look, const struct doc *member)
{
    char key[QUOTE_LEN], word[WORD_MAX];
    if (has_field(look->place, member->key))
        return;
    const struct place *other = find_other(look->places, look->place, member->key);
    if (other)
        decode_warning(look->decoder, member, object_field_misplaced,
                       .field = quote(member->key, key),
                       .where = *other->path ? other->path : "the object itself");
    else if (find_meant(look->place, member->key, word))
        decode_warning(look->decoder, member, object_field_unknown,
                       .field = quote(member->key, key), .meant = word);
}

/* Goes down the path, and looks at each map at its end. */
static void check_below(const struct look *look, const struct doc *node, const char *path)
{
    const size_t length = strcspn(path, ".");
    const char *rest = path[length] ? path + length + 1 : "";
    if (!node || (node->type != DOC_MAP && node->type != DOC_LIST))
        return;
    doc_each(child, node) {
        if (!*path && node->type == DOC_MAP)
            check_member(look, child);
        else if (node->type == DOC_LIST
                     ? *path == '*'
                     : strncmp(child->key, path, length) == 0 && !child->key[length])
            check_below(look, child, rest);
    }
}

/* Kubernetes' own groups have no dot, or end with this; so does none of ours that has a CRD. */
static bool is_custom(const struct kind_row *row)
{
    const char *dot = strchr(row->api_version, '.');
    return dot && !strstr(dot, ".k8s.io/");
}

void fields_check(struct decoder *decoder, const struct kind_row *row)
{
    const bool written = decode_is_manifest(decoder);
    if (decoder->silent || (!written && !is_custom(row)))
        return;
    struct places places = { 0 };
    add_places(&places, "metadata", metadata);
    if (row->fields)
        add_places(&places, "", row->fields);
    for (size_t i = written ? 0 : 1; i < places.count; i++) {
        const struct look look = { decoder, &places, &places.items[i] };
        check_below(&look, decoder->document->root, places.items[i].path);
    }
}
