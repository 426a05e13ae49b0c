// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies of writes about blocks; see block_body.h. Called by the controller's job of blocks.
 *
 * A merge patch (RFC 7386) replaces the list of conditions as a whole. With the resourceVersion
 * that it is made from, the API refuses it (409) if another client has changed the object, so that
 * no other client's entry is lost; and with the uid, if the object was recreated under the name.
 */
#include "controller/pods/block_body.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "format/json.h"

/* Opens a merge patch with its preconditions. */
static void begin_patch(struct json *json, const struct object *object)
{
    json_begin_object(json, NULL);
    json_begin_object(json, "metadata");
    json_string(json, "uid", object->uid);
    json_string(json, "resourceVersion", object->version);
}

static void add_condition(struct json *json, const char *type, const char *reason,
                          const char *message, int64_t now_wall_ms)
{
    json_begin_object(json, NULL);
    json_string(json, "type", type);
    json_string(json, "status", "True");
    json_time(json, "lastProbeTime", now_wall_ms);
    json_time(json, "lastTransitionTime", now_wall_ms);
    json_string(json, "reason", reason);
    json_string(json, "message", message);
    json_end_object(json);
}

void write_answer(const struct block_request *request, const char *block, int64_t now_wall_ms,
                  struct text *body)
{
    struct json json = { .out = body };
    AUTOFREE char *message = block
                                 ? text_format("allocated a block %s", block)
                                 : text_format("pool %s does not have free blocks", request->pool);
    body->failed |= message == NULL;
    begin_patch(&json, &request->object);
    json_end_object(&json);
    json_begin_object(&json, "status");
    if (block)
        json_string(&json, "addressBlockName", block);
    json_begin_array(&json, "conditions");
    if (block) {
        add_condition(&json, "Complete", "allocated", message, now_wall_ms);
    } else {
        add_condition(&json, "Complete", "completed with failure", "completed with failure",
                      now_wall_ms);
        add_condition(&json, "Failed", "out of blocks", message, now_wall_ms);
    }
    json_end_array(&json);
    json_end_object(&json);
    json_end_object(&json);
}
