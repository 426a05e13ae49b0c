// SPDX-License-Identifier: Apache-2.0
/*
 * uid, resourceVersion, owners, finalizers and the time of deletion; called by object.c and
 * encode.c.
 *
 * They are kept of the kinds that we write to, or write about (kind.h): 10,000 Services take 0.8 MB
 * more by it. An object that was deleted and made again has another uid and nothing else, and so is
 * another; one that has only a later version is the same.
 *
 * The lists are bounded, and what is too long for us is left out without a word: nothing is planned
 * by it.
 */
#include "model/identity.h"

#include <string.h>

#include "base/clock.h"
#include "model/fields/encode_member.h"
#include "model/fields/field.h"

void decode_deletion(struct decoder *decoder, const struct doc *metadata, struct object *object)
{
    const struct doc *node = doc_get(metadata, "deletionTimestamp");
    object->deleting = node != NULL;
    const char *text = decode_text(decoder, node);
    if (text)
        (void)clock_parse_rfc3339(text, &object->deleting_ms);
}

static const char *decode_uid(struct decoder *decoder, const struct doc *node)
{
    const char *uid = decode_text(decoder, node);
    return decode_keep(decoder, uid && strlen(uid) <= OBJECT_UID_MAX ? uid : "");
}

static DECODE_FIELD(keep_uid, node)
{
    *(const char **)field_member(field, base) = decode_uid(decoder, node);
    return true;
}

static const struct field owner_fields[] = {
    { "kind", &field_text, MEMBER(struct object_owner, kind), .written = true },
    { "name", &field_text, MEMBER(struct object_owner, name), .written = true },
    { "uid", &field_text, MEMBER(struct object_owner, uid), .decode = keep_uid, .written = true },
    { "controller", &field_flag, MEMBER(struct object_owner, controller) },
    END(NULL),
};

static const struct field tie_fields[] = {
    { "ownerReferences", &field_list, ITEMS(struct object_ties, owners, owner_count),
      .fields = owner_fields, .max = OBJECT_OWNERS_MAX },
    { "finalizers", &field_list, ITEMS(struct object_ties, finalizers, finalizer_count),
      .fields = text_items, .max = OBJECT_FINALIZERS_MAX },
    END(NULL),
};

static bool is_filled(const struct doc *list)
{
    return list && (list->type != DOC_LIST || list->count > 0);
}

static void decode_ties(struct decoder *decoder, const struct doc *metadata, struct object *object)
{
    if (!is_filled(doc_get(metadata, "ownerReferences")) &&
        !is_filled(doc_get(metadata, "finalizers")))
        return;
    struct object_ties *ties = decode_alloc(decoder, 1, sizeof(*ties));
    if (ties)
        (void)fields_decode(decoder, metadata, tie_fields, ties);
    object->ties = ties;
}

void decode_identity(struct decoder *decoder, const struct doc *metadata, struct object *object)
{
    object->uid = decode_uid(decoder, doc_get(metadata, "uid"));
    object->version = decode_string(decoder, doc_get(metadata, "resourceVersion"));
    decode_ties(decoder, metadata, object);
}

bool identity_equal(const struct object *a, const struct object *b)
{
    if (a->deleting != b->deleting || a->deleting_ms != b->deleting_ms ||
        strcmp(a->uid, b->uid) != 0 || !a->ties != !b->ties)
        return false;
    return !a->ties || fields_equal(tie_fields, a->ties, b->ties);
}

void encode_identity(struct json *json, const struct object *object)
{
    encode_text(json, "uid", object->uid);
    if (object->ties)
        fields_encode(json, tie_fields, object->ties);
}
