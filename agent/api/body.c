// SPDX-License-Identifier: Apache-2.0
/*
 * The body of a request, from its bytes to the values of an action.
 *
 * api.c calls it before an action runs, and actions call it for their members. The reader is that
 * of manifests and answers: UTF-8 only, no member twice, 64 levels, nothing behind the one value.
 * What an action does not know is refused: a word that is misspelt shall not be taken for its
 * default.
 */
#include "api/body.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "format/place.h"
#include "format/quote.h"
#include "format/reader.h"

static const char name[] = "body";

bool body_is_json(const struct http_request *request)
{
    static const char json[] = "application/json";
    const char *type = http_header(request, "Content-Type");

    if (!type || strncasecmp(type, json, strlen(json)) != 0)
        return false;
    type += strlen(json);
    return type[strspn(type, " \t")] == '\0' || type[strspn(type, " \t")] == ';';
}

int body_parse(const struct http_request *request, struct document **ret_document,
               struct faults *faults)
{
    const struct place start = { 1, 1 };
    CLEANUP(document_freep) struct document *document = NULL;

    *ret_document = NULL;
    if (!request->body)
        return 0;
    int r = document_parse(request->body, request->body_size, name, READER_JSON, &document, faults);
    if (r < 0)
        return r;
    if (r == 0)
        return place_raise(start, "body", faults, document_value_unexpected,
                           .expected = "a JSON object", .found = "nothing");
    if (document->root->type != DOC_MAP) {
        doc_raise(document, document->root, faults, document_value_unexpected,
                  .expected = "a JSON object");
        return -EBADMSG;
    }
    *ret_document = TAKE_PTR(document);
    return 0;
}

static bool is_among(const char *key, const char *const *names)
{
    while (*names && strcmp(*names, key) != 0)
        names++;
    return *names;
}

int body_check_members(const struct document *document, const char *const *names,
                       struct faults *faults)
{
    int r = 0;

    doc_each(member, document ? document->root : NULL) {
        if (is_among(member->key, names))
            continue;
        doc_raise(document, member, faults, document_member_unknown);
        r = -EBADMSG;
    }
    return r;
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

int body_string(const struct document *document, const struct doc *node, const char **ret,
                struct faults *faults)
{
    const char *text = NULL;
    char quoted[QUOTE_LEN];
    int r = doc_string(document, node, &text, faults);
    if (r > 0 && !node->quoted) {
        doc_raise(document, node, faults, document_value_unexpected, .expected = "a string",
                  .found = quote(text, quoted));
        return -EBADMSG;
    }
    if (r > 0)
        *ret = text;
    return r;
}

int body_line(const struct document *document, const char *member, size_t max, const char **ret,
              struct faults *faults)
{
    const struct doc *node = document ? doc_get(document->root, member) : NULL;
    char expected[64];
    const char *text = NULL;
    int r = body_string(document, node, &text, faults);

    if (r <= 0)
        return r;
    if (strlen(text) > max || has_control(text)) {
        snprintf(expected, sizeof(expected), "one line of at most %zu bytes", max);
        doc_raise(document, node, faults, document_value_unexpected, .expected = expected);
        return -EBADMSG;
    }
    *ret = text;
    return 1;
}

int body_duration(const struct document *document, const char *member, int64_t *ret_ms,
                  struct faults *faults)
{
    const struct doc *node = document ? doc_get(document->root, member) : NULL;
    const char *text = NULL;
    int r = body_string(document, node, &text, faults);

    if (r <= 0)
        return r;
    if (clock_parse_duration(text, ret_ms) < 0) {
        doc_raise(document, node, faults, document_value_unexpected,
                  .expected = "a duration such as 500ms, 10s or 2m");
        return -EBADMSG;
    }
    return 1;
}
