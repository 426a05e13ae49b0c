// SPDX-License-Identifier: Apache-2.0
/*
 * A patch of finalizers; see finalizers.h.
 *
 * A merge patch (RFC 7386) replaces a list as a whole. With the resourceVersion that it is made
 * from, the API refuses it (409) once anybody has changed the object, so that nobody else's entry
 * is lost; and with the uid, that of an object which was made anew under the name.
 */
#include "model/fields/finalizers.h"

#include <errno.h>
#include <string.h>

#include "format/json.h"

int write_finalizers(const struct object *object, const char *finalizer, bool held,
                     struct text *body)
{
    struct json json = { .out = body };
    const struct object_ties *ties = object->ties;
    if (ties && ties->finalizer_count >= OBJECT_FINALIZERS_MAX)
        return -E2BIG;
    json_begin_object(&json, NULL);
    json_begin_object(&json, "metadata");
    json_string(&json, "uid", object->uid);
    json_string(&json, "resourceVersion", object->version);
    json_begin_array(&json, "finalizers");
    for (uint32_t i = 0; ties && i < ties->finalizer_count; i++) {
        if (strcmp(ties->finalizers[i], finalizer) != 0)
            json_string(&json, NULL, ties->finalizers[i]);
    }
    if (held)
        json_string(&json, NULL, finalizer);
    json_end_array(&json);
    json_end_object(&json);
    json_end_object(&json);
    return 0;
}
