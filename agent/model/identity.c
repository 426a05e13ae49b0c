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
#include "base/macro.h"
#include "model/fields/encode_member.h"

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

static uint32_t decode_owners(struct decoder *decoder, const struct doc *list,
                              const struct object_owner **ret_owners)
{
    uint32_t count = MIN(list->count, (uint32_t)OBJECT_OWNERS_MAX);
    struct object_owner *owners = decode_alloc(decoder, count, sizeof(*owners));
    if (!owners)
        return 0;
    const struct doc *node = list->first;
    for (uint32_t i = 0; i < count; i++, node = node->next) {
        owners[i] = (struct object_owner){
            .kind = decode_string(decoder, doc_get(node, "kind")),
            .name = decode_string(decoder, doc_get(node, "name")),
            .uid = decode_uid(decoder, doc_get(node, "uid")),
            .controller = decode_bool(decoder, doc_get(node, "controller"), false),
        };
    }
    *ret_owners = owners;
    return count;
}

static uint32_t decode_finalizers(struct decoder *decoder, const struct doc *list,
                                  const char *const **ret_finalizers)
{
    uint32_t count = MIN(list->count, (uint32_t)OBJECT_FINALIZERS_MAX);
    const char **finalizers = decode_alloc(decoder, count, sizeof(*finalizers));
    if (!finalizers)
        return 0;
    const struct doc *node = list->first;
    for (uint32_t i = 0; i < count; i++, node = node->next)
        finalizers[i] = decode_string(decoder, node);
    *ret_finalizers = finalizers;
    return count;
}

static void decode_ties(struct decoder *decoder, const struct doc *metadata, struct object *object)
{
    const struct doc *owners = decode_list(decoder, doc_get(metadata, "ownerReferences"));
    const struct doc *finalizers = decode_list(decoder, doc_get(metadata, "finalizers"));
    if ((!owners || owners->count == 0) && (!finalizers || finalizers->count == 0))
        return;
    struct object_ties *ties = decode_alloc(decoder, 1, sizeof(*ties));
    if (!ties)
        return;
    if (owners)
        ties->owner_count = decode_owners(decoder, owners, &ties->owners);
    if (finalizers)
        ties->finalizer_count = decode_finalizers(decoder, finalizers, &ties->finalizers);
    object->ties = ties;
}

void decode_identity(struct decoder *decoder, const struct doc *metadata, struct object *object)
{
    object->uid = decode_uid(decoder, doc_get(metadata, "uid"));
    object->version = decode_string(decoder, doc_get(metadata, "resourceVersion"));
    decode_ties(decoder, metadata, object);
}

static bool owners_equal(const struct object_ties *a, const struct object_ties *b)
{
    if (a->owner_count != b->owner_count)
        return false;
    for (uint32_t i = 0; i < a->owner_count; i++) {
        const struct object_owner *left = &a->owners[i], *right = &b->owners[i];
        if (strcmp(left->uid, right->uid) != 0 || strcmp(left->name, right->name) != 0 ||
            strcmp(left->kind, right->kind) != 0 || left->controller != right->controller)
            return false;
    }
    return true;
}

static bool finalizers_equal(const struct object_ties *a, const struct object_ties *b)
{
    if (a->finalizer_count != b->finalizer_count)
        return false;
    for (uint32_t i = 0; i < a->finalizer_count; i++) {
        if (strcmp(a->finalizers[i], b->finalizers[i]) != 0)
            return false;
    }
    return true;
}

bool identity_equal(const struct object *a, const struct object *b)
{
    if (a->deleting != b->deleting || a->deleting_ms != b->deleting_ms ||
        strcmp(a->uid, b->uid) != 0 || !a->ties != !b->ties)
        return false;
    return !a->ties || (owners_equal(a->ties, b->ties) && finalizers_equal(a->ties, b->ties));
}

static void encode_owners(struct json *json, const struct object_ties *ties)
{
    json_begin_array(json, "ownerReferences");
    for (uint32_t i = 0; i < ties->owner_count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "kind", ties->owners[i].kind);
        json_string(json, "name", ties->owners[i].name);
        json_string(json, "uid", ties->owners[i].uid);
        encode_flag(json, "controller", ties->owners[i].controller);
        json_end_object(json);
    }
    json_end_array(json);
}

static void encode_finalizers(struct json *json, const struct object_ties *ties)
{
    json_begin_array(json, "finalizers");
    for (uint32_t i = 0; i < ties->finalizer_count; i++)
        json_string(json, NULL, ties->finalizers[i]);
    json_end_array(json);
}

void encode_identity(struct json *json, const struct object *object)
{
    encode_text(json, "uid", object->uid);
    if (object->ties && object->ties->owner_count)
        encode_owners(json, object->ties);
    if (object->ties && object->ties->finalizer_count)
        encode_finalizers(json, object->ties);
}
