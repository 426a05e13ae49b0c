// SPDX-License-Identifier: Apache-2.0
/* Errors of the CNI plugin; see error.h. All versions of the specification have the same form. */
#include "cni/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "format/json.h"

int cni_fail(struct cni_error *error, enum cni_code code, const char *remedy, const char *format,
             ...)
{
    va_list args;
    error->code = code;
    (void)snprintf(error->remedy, sizeof(error->remedy), "%s", remedy);
    va_start(args, format);
    (void)vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    return -ECANCELED;
}

void cni_error_write(struct text *out, const char *version, const struct cni_error *error)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "cniVersion", version);
    json_int(&json, "code", error->code);
    json_string(&json, "msg", error->message);
    json_string(&json, "details", error->remedy);
    json_end_object(&json);
}
