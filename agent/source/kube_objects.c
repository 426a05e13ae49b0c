// SPDX-License-Identifier: Apache-2.0
/*
 * Puts elements of a list or events of a watch into the store; called by kube_list.c and
 * kube_watch.c.
 *
 * An object that can't be decoded does not change the store: its last good version stays in force
 * until a good one arrives, or the object is deleted. Problems are kept by key, so that a fault
 * ends with its cause. An element that is not even JSON (too long, too deep, no UTF-8) can mostly
 * be identified nevertheless, since metadata is at its beginning.
 *
 * The place of a fault is the object: lines and columns of an answer do not help an operator.
 */
#include "source/kube_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/api.h"
#include "faults/raise.h"
#include "format/json_text.h"
#include "format/quote.h"
#include "source/kube.h"

enum {
    MOST_TOLD = 50,    /* objects whose faults are listed */
    MOST_KEPT = 10000, /* objects whose problems are kept */
};

struct trouble {
    char *place; /* "Service default/web"; of text without a name "Service" */
    bool unknown;
    uint64_t list; /* number of the last list that was begun */
    struct faults faults;
};

/* An object that was read, to be put into the store or reported. */
struct arrival {
    struct object *object; /* NULL: it can't be used */
    char *place;
    bool named;
    bool unknown; /* it can't be used, and there is no version from before */
    struct faults errors, warnings;
};

static void arrival_done(struct arrival *arrival)
{
    object_free(arrival->object);
    free(arrival->place);
    faults_done(&arrival->errors);
    faults_done(&arrival->warnings);
}

static int trouble_cmp(const void *a, const void *b)
{
    return strcmp(((const struct trouble *)a)->place, ((const struct trouble *)b)->place);
}

static void trouble_done(struct trouble *trouble)
{
    faults_done(&trouble->faults);
    free(trouble->place);
}

void kube_objects_init(struct kube_objects *objects, struct store *store, enum kind kind)
{
    *objects = (struct kube_objects){ .store = store,
                                      .kind = kind,
                                      .troubles = SORTED(struct trouble, trouble_cmp) };
}

void kube_objects_done(struct kube_objects *objects)
{
    kube_objects_drop_held(objects);
    sorted_each(struct trouble, trouble, &objects->troubles) {
        trouble_done(trouble);
    }
    sorted_done(&objects->troubles);
}

static bool is_string(const struct doc *node)
{
    return node && node->type == DOC_SCALAR && node->quoted;
}

bool kube_objects_name(const struct kube_objects *objects, const struct doc *object,
                       struct object_name *ret_name)
{
    const struct doc *metadata = doc_get(object, "metadata");
    const struct doc *namespace = doc_get(metadata, "namespace");
    const struct doc *name = doc_get(metadata, "name");
    if (!is_string(name) || (namespace && !is_string(namespace)))
        return false;
    *ret_name = (struct object_name){ namespace ? namespace->text : "", name->text };
    return object_names_fit(objects->kind, ret_name->namespace, ret_name->name);
}

const char *kube_objects_other_kind(const struct kube_objects *objects, const struct doc *object)
{
    const struct doc *kind = doc_get(object, "kind");
    bool same =
        !kind || kind->type != DOC_SCALAR || strcmp(kind->text, kind_name(objects->kind)) == 0;
    return same ? NULL : kind->text;
}

/* "Service default/web"; the caller frees it. */
static char *place_of(const struct kube_objects *objects, const struct object_name *name)
{
    if (!name)
        return strdup(kind_name(objects->kind));
    return text_format("%s %s%s%s", kind_name(objects->kind), name->namespace,
                       *name->namespace ? "/" : "", name->name);
}

static void forget(struct kube_objects *objects, const char *place)
{
    struct trouble key = { .place = (char *)place };
    struct trouble *trouble = sorted_find(&objects->troubles, &key);
    if (!trouble)
        return;
    struct trouble gone = *trouble;
    sorted_remove(&objects->troubles, &key);
    trouble_done(&gone);
}

/* Replaces the problems of an object; an empty list: there are none. */
static int note(struct kube_objects *objects, struct arrival *arrival)
{
    const struct faults *const lists[] = { &arrival->errors, &arrival->warnings };
    forget(objects, arrival->place);
    struct trouble trouble = { .place = arrival->place,
                               .unknown = arrival->unknown,
                               .list = objects->lists };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        trouble.faults.incomplete |= lists[i]->incomplete;
        vec_each(const struct fault, fault, &lists[i]->list)
            faults_add_copy(&trouble.faults, arrival->place, fault);
    }
    if (faults_none(&trouble.faults))
        return 0;
    if (arrival->named && objects->troubles.count >= MOST_KEPT) {
        faults_done(&trouble.faults);
        return faults_none(&arrival->errors) ? 0 : -E2BIG; /* warnings are left out */
    }
    int r = sorted_put(&objects->troubles, &trouble);
    if (r < 0)
        faults_done(&trouble.faults);
    else
        arrival->place = NULL; /* owned by the table */
    return r;
}

static bool is_known(const struct kube_objects *objects, const struct object_name *name)
{
    return name && store_get(objects->store, objects->kind, name->namespace, name->name);
}

/* Elements of a list mostly have no kind; an element of another kind is rejected. */
static int check_kind(const struct kube_objects *objects, const struct document *document,
                      const struct doc *root, struct faults *errors)
{
    char shown[QUOTE_LEN];
    const char *other = kube_objects_other_kind(objects, root);
    if (!other)
        return 1;
    doc_raise(document, doc_get(root, "kind"), errors, api_object_kind_wrong,
              .kind = quote(other, shown));
    return -EBADMSG;
}

static int take(struct kube_objects *objects, struct arrival *arrival)
{
    int r = arrival->object ? store_put(objects->store, KUBE_ORIGIN, TAKE_PTR(arrival->object)) : 0;
    objects->changes += r > 0;
    return r == -ENOMEM ? r : note(objects, arrival);
}

/* Takes an object, or holds it. */
static int arrive(struct kube_objects *objects, struct arrival *arrival)
{
    if (!objects->holding)
        return take(objects, arrival);
    objects->held_bad += !faults_none(&arrival->errors);
    if (objects->held_bad > MOST_KEPT)
        return -E2BIG;
    int r = vec_push(&objects->held, *arrival);
    if (r < 0)
        return r;
    *arrival = (struct arrival){ 0 };
    return 0;
}

void kube_objects_hold(struct kube_objects *objects)
{
    objects->holding = true;
}

static int take_all(struct kube_objects *objects)
{
    vec_each(struct arrival, arrival, &objects->held) {
        int r = take(objects, arrival);
        if (r < 0)
            return r;
    }
    return 0;
}

int kube_objects_take_held(struct kube_objects *objects)
{
    objects->holding = false;
    int r = take_all(objects);
    kube_objects_drop_held(objects);
    return r;
}

void kube_objects_drop_held(struct kube_objects *objects)
{
    objects->holding = false;
    objects->held_bad = 0;
    vec_each(struct arrival, arrival, &objects->held)
        arrival_done(arrival);
    vec_done(&objects->held);
}

int kube_objects_put(struct kube_objects *objects, const struct document *document,
                     const struct doc *root, const struct object_name *name)
{
    CLEANUP(arrival_done)
    struct arrival arrival = { .place = place_of(objects, name), .named = true };
    struct document part = *document;
    part.root = (struct doc *)root;
    int r = arrival.place ? check_kind(objects, document, root, &arrival.errors) : -ENOMEM;
    if (r > 0)
        r = object_decode_as(&part, objects->kind, &arrival.object, &arrival.errors,
                             &arrival.warnings);
    if (r == -ENOMEM)
        return r;
    arrival.unknown = r < 0 && !is_known(objects, name);
    return arrive(objects, &arrival);
}

int kube_objects_remove(struct kube_objects *objects, const struct object_name *name)
{
    AUTOFREE char *place = place_of(objects, name);
    if (!place)
        return -ENOMEM;
    int r = store_remove(objects->store, KUBE_ORIGIN, objects->kind, name->namespace, name->name);
    if (r < 0)
        return r;
    objects->changes += r > 0;
    forget(objects, place);
    return 0;
}

/* The offset of a member's value in an object that begins at `offset`; 0: there is none. */
static size_t find_member(const char *text, size_t offset, const char *key)
{
    struct json_cursor cursor;
    size_t length = strlen(key);
    for (bool more = json_enter(&cursor, text, offset); more; more = json_next(&cursor)) {
        if (cursor.key.length == length + 2 &&
            memcmp(text + cursor.key.offset + 1, key, length) == 0)
            return cursor.offset;
    }
    return 0;
}

/* Appends the string that begins at `offset`, if it is a name; returns NULL if it is none. */
static const char *read_name(const char *text, size_t offset, char **buffer, const char *end)
{
    size_t length = strspn(text + offset + 1, "abcdefghijklmnopqrstuvwxyz0123456789.-");
    if (offset == 0 || text[offset] != '"' || text[offset + 1 + length] != '"' ||
        length + 1 > (size_t)(end - *buffer))
        return NULL;
    char *name = memcpy(*buffer, text + offset + 1, length);
    name[length] = '\0';
    *buffer += length + 1;
    return name;
}

static bool find_name(enum kind kind, const char *text, struct object_name *ret_name, char *buffer)
{
    const char *end = buffer + KUBE_NAME_BUFFER;
    size_t object = find_member(text, 0, "object"); /* of an event; else it is the text */
    size_t metadata = find_member(text, object, "metadata");
    if (metadata == 0)
        return false;
    size_t namespace = find_member(text, metadata, "namespace");
    ret_name->name = read_name(text, find_member(text, metadata, "name"), &buffer, end);
    ret_name->namespace = namespace ? read_name(text, namespace, &buffer, end) : "";
    return ret_name->name && ret_name->namespace &&
           object_names_fit(kind, ret_name->namespace, ret_name->name);
}

int kube_objects_refuse(struct kube_objects *objects, const char *text, const struct faults *why,
                        struct object_name *ret_name, char buffer[static KUBE_NAME_BUFFER])
{
    bool found = find_name(objects->kind, text, ret_name, buffer);
    struct object_name *name = found ? ret_name : NULL;
    CLEANUP(arrival_done)
    struct arrival arrival = { .place = place_of(objects, name),
                               .named = found,
                               .unknown = !is_known(objects, name) };
    if (!arrival.place)
        return -ENOMEM;
    arrival.errors.incomplete = why->incomplete;
    vec_each(const struct fault, fault, &why->list)
        faults_add_copy(&arrival.errors, fault->place, fault);
    int r = arrive(objects, &arrival);
    return r < 0 ? r : found;
}

const char *kube_objects_error(int error)
{
    return error == -E2BIG ? "more than 10000 objects can't be read: all of it is refused"
                           : "no memory for the objects";
}

bool kube_objects_deletes(const char *text)
{
    static const char word[] = "\"DELETED\"";
    size_t type = find_member(text, 0, "type");
    return type > 0 && strncmp(text + type, word, sizeof(word) - 1) == 0;
}

bool kube_objects_nameless(const struct kube_objects *objects)
{
    struct trouble key = { .place = (char *)kind_name(objects->kind) };
    return sorted_find(&objects->troubles, &key) != NULL;
}

void kube_objects_begin_list(struct kube_objects *objects)
{
    objects->lists++;
}

/* Every object was in the list: problems of all others are over. */
static void forget_old(struct kube_objects *objects)
{
    for (size_t i = objects->troubles.count; i > 0; i--) {
        const struct trouble *trouble = sorted_at(&objects->troubles, i - 1);
        if (trouble->list < objects->lists)
            forget(objects, trouble->place);
    }
}

static int remove_others(struct kube_objects *objects, const struct key_set *named)
{
    CLEANUP(key_set_done) struct key_set gone = { 0 };
    AUTOVEC object_list list = { 0 };
    int r = store_list(objects->store, objects->kind, &list);
    if (r < 0)
        return r;
    vec_each(const struct object *, it, &list) {
        if (key_set_has(named, (*it)->namespace, (*it)->name))
            continue;
        r = key_set_add(&gone, (*it)->namespace, (*it)->name);
        if (r < 0)
            return r;
    }
    vec_each(const struct object_name, name, &gone.names) {
        r = kube_objects_remove(objects, name);
        if (r < 0)
            return r;
    }
    return 0;
}

int kube_objects_end_list(struct kube_objects *objects, const struct key_set *named)
{
    int r = named ? remove_others(objects, named) : 0;
    if (r < 0)
        return r;
    forget_old(objects);
    return 0;
}

void kube_objects_faults(const struct kube_objects *objects, struct faults *faults)
{
    size_t told = 0;
    sorted_each(const struct trouble, trouble, &objects->troubles) {
        if (told++ == MOST_TOLD)
            break;
        faults->incomplete |= trouble->faults.incomplete;
        vec_each(const struct fault, fault, &trouble->faults.list)
            faults_add_copy(faults, fault->place, fault);
    }
    if (objects->troubles.count > MOST_TOLD)
        fault_raise(faults, kind_name(objects->kind), api_faults_untold,
                    .count = (int64_t)objects->troubles.count - MOST_TOLD,
                    .capped = objects->troubles.count >= MOST_KEPT);
}

size_t kube_objects_unknown(const struct kube_objects *objects)
{
    size_t count = 0;
    sorted_each(const struct trouble, trouble, &objects->troubles) {
        count += trouble->unknown;
    }
    return count;
}
