// SPDX-License-Identifier: Apache-2.0
/*
 * From a document back to JSON. Called for parts of objects that are none of our business, and are
 * passed on: an Egress's pod template.
 *
 * A scalar was text in its file. Unquoted it is a boolean or a number if JSON has it as one, which
 * is what YAML's core schema says as well of "true" and "8080"; "100m" and "012" are strings.
 */
#include "format/doc_json.h"

#include <ctype.h>
#include <string.h>

static const char *skip_digits(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

/* RFC 8259, section 6. */
static bool is_number(const char *text)
{
    text += *text == '-';
    const char *end = skip_digits(text);
    if (end == text || (*text == '0' && end > text + 1))
        return false;
    if (*end == '.') {
        text = end + 1;
        end = skip_digits(text);
        if (end == text)
            return false;
    }
    if (*end == 'e' || *end == 'E') {
        text = end + 1;
        text += *text == '+' || *text == '-';
        end = skip_digits(text);
        if (end == text)
            return false;
    }
    return !*end;
}

static void add_scalar(struct json *json, const char *key, const struct doc *node)
{
    bool plain = !node->quoted && (strcmp(node->text, "true") == 0 ||
                                   strcmp(node->text, "false") == 0 || is_number(node->text));
    if (plain)
        json_raw(json, key, node->text);
    else
        json_string(json, key, node->text);
}

/* As deep as documents may be (reader.h). */
void json_doc(struct json *json, const char *key, const struct doc *node)
{
    switch (node ? node->type : DOC_NULL) {
    case DOC_NULL:
        json_null(json, key);
        return;
    case DOC_SCALAR:
        add_scalar(json, key, node);
        return;
    case DOC_LIST:
        json_begin_array(json, key);
        doc_each(element, node)
            json_doc(json, NULL, element);
        json_end_array(json);
        return;
    case DOC_MAP:
        json_begin_object(json, key);
        doc_each(member, node)
            json_doc(json, member->key, member);
        json_end_object(json);
        return;
    }
}
