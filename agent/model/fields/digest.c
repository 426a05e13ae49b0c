// SPDX-License-Identifier: Apache-2.0
/* Digests of objects that are made for Egresses; called by the decoders of workload.c and
 * service.c, and by the controller for the answers to its writes. The key is no secret: who can
 * choose an object's content to collide can as well write it. */
#include "model/fields/digest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/siphash.h"
#include "format/doc_json.h"
#include "model/workload.h"

enum { DIGEST_DIGITS = 16 };

uint64_t object_digest(const struct doc *root)
{
    static const uint8_t key[16] = "fingerpost says";
    static const char *const left_out[] = { "apiVersion", "kind", "metadata", "status" };
    AUTOTEXT struct text text = { 0 };
    struct json json = { .out = &text };
    const struct doc *metadata = doc_get(root, "metadata");
    json_begin_object(&json, NULL);
    json_doc(&json, "labels", doc_get(metadata, "labels"));
    json_doc(&json, "ownerReferences", doc_get(metadata, "ownerReferences"));
    doc_each(member, root) {
        bool counts = true;
        for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
            counts &= strcmp(member->key, left_out[i]) != 0;
        if (counts)
            json_doc(&json, member->key, member);
    }
    json_end_object(&json);
    if (text_error(&text) < 0)
        return 0;
    uint64_t digest = siphash(text_str(&text), text.length, key);
    return digest ? digest : 1;
}

static bool has_label(const struct decoder *decoder, const char *key, const char *value)
{
    const char *label = decode_label(decoder, key);
    return label && strcmp(label, value) == 0;
}

bool decode_is_of_egress(const struct decoder *decoder, const struct object *object,
                         const char **ret_egress)
{
    const struct object_owner *owner = object_controller(object);
    bool labelled = has_label(decoder, WORKLOAD_NAME_LABEL, WORKLOAD_NAME) &&
                    has_label(decoder, WORKLOAD_COMPONENT_LABEL, WORKLOAD_COMPONENT);
    *ret_egress = labelled ? decode_label(decoder, WORKLOAD_INSTANCE_LABEL) : NULL;
    return *ret_egress || (owner && strcmp(owner->kind, "Egress") == 0);
}

uint64_t decode_digest(struct decoder *decoder)
{
    const struct doc *known = doc_get(decoder->document->root, "digest");
    if (known && known->type == DOC_SCALAR && strlen(known->text) == DIGEST_DIGITS)
        return strtoull(known->text, NULL, 16);
    uint64_t digest = object_digest(decoder->document->root);
    decoder->no_memory |= digest == 0;
    return digest;
}

static ENCODE_FIELD(encode_digest)
{
    const uint64_t *digest = field_at(field, base);
    if (*digest)
        json_stringf(json, "digest", "%016" PRIx64, *digest);
}

const struct field_type field_digest = { NULL, field_numbers_equal, encode_digest };
