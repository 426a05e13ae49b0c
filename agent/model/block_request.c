// SPDX-License-Identifier: Apache-2.0
/*
 * BlockRequests: from a document, compared, and written back.
 *
 * Of the conditions only their outcome is kept, by the rule of Coil's nodes: Failed counts before
 * Complete, and its reason is what the node logs.
 */
#include "model/block_request.h"

#include <string.h>

#include "base/text.h"
#include "model/fields/decode.h"
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

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct block_request *request = (struct block_request *)object;
    request->node = request->pool = request->block = request->reason = "";
    const struct doc *spec = decode_map(decoder, decode_need(decoder, root, "spec"));
    if (!spec)
        return;
    request->node = decode_string(decoder, decode_need(decoder, spec, "nodeName"));
    request->pool = decode_string(decoder, decode_need(decoder, spec, "poolName"));
    const struct doc *status = decode_map(decoder, doc_get(root, "status"));
    if (!status)
        return;
    request->block = decode_string(decoder, doc_get(status, "addressBlockName"));
    doc_each(node, decode_list(decoder, doc_get(status, "conditions"))) {
        decode_condition(decoder, node, request);
    }
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct block_request *left = to_block_request(a), *right = to_block_request(b);
    return text_equal(left->node, right->node) && text_equal(left->pool, right->pool) &&
           text_equal(left->block, right->block) && text_equal(left->reason, right->reason) &&
           left->answered == right->answered && left->failed == right->failed &&
           left->complete == right->complete;
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

static void encode_rest(const struct object *object, struct json *json)
{
    const struct block_request *request = to_block_request(object);
    json_begin_object(json, "spec");
    json_string(json, "nodeName", request->node);
    json_string(json, "poolName", request->pool);
    json_end_object(json);
    json_begin_object(json, "status");
    encode_text(json, "addressBlockName", request->block);
    json_begin_array(json, "conditions");
    if (request->answered)
        encode_condition(json, "Complete", request->complete ? "True" : "False", "");
    if (request->failed)
        encode_condition(json, "Failed", "True", request->reason);
    json_end_array(json);
    json_end_object(json);
}

const struct kind_row block_request_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "BlockRequest",
    .identified = true,
    .size = sizeof(struct block_request),
    .decode = decode,
    .equal = equal,
    .encode_rest = encode_rest,
};
