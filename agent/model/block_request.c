// SPDX-License-Identifier: Apache-2.0
/*
 * BlockRequests: from a document, compared, and written back.
 *
 * Of the conditions only their outcome is kept, by the rule of Coil's nodes: Failed counts before
 * Complete, and its reason is what the node logs.
 */
#include "model/block_request.h"

#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/kind.h"

static void decode_condition(struct decoder *decoder, const struct doc *node,
                             struct block_request *request)
{
    if (!decode_map(decoder, node))
        return;
    const char *type = decode_text(decoder, decode_need(decoder, node, "type"));
    const char *status = decode_text(decoder, decode_need(decoder, node, "status"));
    request->answered = true;
    if (!text_equal(status, "True"))
        return;
    if (text_equal(type, "Complete"))
        request->complete = true;
    if (text_equal(type, "Failed")) {
        request->failed = true;
        request->reason = decode_string(decoder, doc_get(node, "reason"));
    }
}

static DECODE_FIELD(decode_conditions, node)
{
    struct block_request *request = base;
    request->reason = "";
    doc_each(condition, decode_list(decoder, node)) {
        decode_condition(decoder, condition, request);
    }
    return true;
}

static EQUAL_FIELD(conditions_equal)
{
    const struct block_request *left = a, *right = b;
    return text_equal(left->reason, right->reason) && left->answered == right->answered &&
           left->failed == right->failed && left->complete == right->complete;
}

static void encode_condition(struct json *json, const char *type, const char *status,
                             const char *reason)
{
    json_begin_object(json, NULL);
    json_string(json, "type", type);
    json_string(json, "status", status);
    encode_text(json, "reason", reason);
    json_end_object(json);
}

static ENCODE_FIELD(encode_conditions)
{
    const struct block_request *request = base;
    json_begin_array(json, field->key);
    if (request->answered)
        encode_condition(json, "Complete", request->complete ? "True" : "False", "");
    if (request->failed)
        encode_condition(json, "Failed", "True", request->reason);
    json_end_array(json);
}

static const struct field_type conditions = { decode_conditions, conditions_equal,
                                              encode_conditions };

static const struct field spec[] = {
    { "nodeName", &field_text, MEMBER(struct block_request, node), .required = true },
    { "poolName", &field_text, MEMBER(struct block_request, pool), .required = true },
    END(NULL),
};

static const struct field status[] = {
    { "addressBlockName", &field_text, MEMBER(struct block_request, block) },
    { "conditions", &conditions },
    END(NULL),
};

static const struct field fields[] = {
    { "spec", &field_map, .fields = spec, .required = true },
    { "status", &field_map, .fields = status },
    END(NULL),
};

const struct kind_row block_request_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "BlockRequest",
    .identified = true,
    .size = sizeof(struct block_request),
    .fields = fields,
};
