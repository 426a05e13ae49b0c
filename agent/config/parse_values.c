// SPDX-License-Identifier: Apache-2.0
/*
 * Parsers of plain values: numbers, sizes, durations, names, paths. Each takes the whole value or
 * adds one fault that says what was expected, with an example where the form is not obvious.
 */
#include "config/parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "faults/config.h"
#include "faults/documents.h"
#include "format/quote.h"

void parse_bool(struct parse *parse, const struct config_key *key, const struct doc *node,
                void *field)
{
    (void)key;
    (void)doc_bool(parse->document, node, field, parse->errors);
}

void parse_count(struct parse *parse, const struct config_key *key, const struct doc *node,
                 void *field)
{
    int64_t value;
    if (doc_int(parse->document, node, key->min, key->max, &value, parse->errors) > 0)
        *(uint32_t *)field = (uint32_t)value;
}

/* Bytes, with an optional unit behind the digits. Returns 0, -EINVAL or -ERANGE. */
static int size_parse(const char *text, uint64_t *ret_bytes)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = { { "", 0 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 } };

    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    char *unit;
    errno = 0;
    unsigned long long number = strtoull(text, &unit, 10);
    if (errno == ERANGE)
        return -ERANGE;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        if (number > UINT64_MAX >> units[i].shift)
            return -ERANGE;
        *ret_bytes = (uint64_t)number << units[i].shift;
        return 0;
    }
    return -EINVAL;
}

void parse_size(struct parse *parse, const struct config_key *key, const struct doc *node,
                void *field)
{
    const char *text;
    char shown[QUOTE_LEN];
    if (doc_string(parse->document, node, &text, parse->errors) <= 0)
        return;
    uint64_t bytes = 0;
    int r = size_parse(text, &bytes);
    if (r == -EINVAL)
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = "a number of bytes, such as 1048576 or 64MiB",
                  .found = quote(text, shown));
    else if (r == -ERANGE || bytes < (uint64_t)key->min || bytes > (uint64_t)key->max)
        doc_raise(parse->document, node, parse->errors, config_size_out_of_range,
                  .size = quote(text, shown), .min = key->min, .max = key->max);
    else
        *(uint64_t *)field = bytes;
}

void parse_duration(struct parse *parse, const struct config_key *key, const struct doc *node,
                    void *field)
{
    const char *text;
    char shown[QUOTE_LEN], bound[CLOCK_STRLEN];
    int64_t ms;
    if (doc_string(parse->document, node, &text, parse->errors) <= 0)
        return;
    int r = clock_parse_duration(text, &ms);
    if (r == 0 && ms < (int64_t)key->min)
        doc_raise(parse->document, node, parse->errors, config_duration_short,
                  .duration = quote(text, shown), .bound = clock_ago(key->min, bound));
    else if (r == 0 && key->max && ms > key->max)
        doc_raise(parse->document, node, parse->errors, config_duration_long,
                  .duration = quote(text, shown), .bound = clock_ago(key->max, bound));
    else if (r == 0)
        *(int64_t *)field = ms;
    else if (r == -ERANGE)
        doc_raise(parse->document, node, parse->errors, config_duration_long,
                  .duration = quote(text, shown), .bound = "a year");
    else
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = "a duration, such as 250ms, 10s or 1m30s",
                  .found = quote(text, shown));
}

void parse_text(struct parse *parse, const struct config_key *key, const struct doc *node,
                void *field)
{
    (void)key;
    const char *text;
    if (doc_string(parse->document, node, &text, parse->errors) > 0)
        parse_set_string(parse, field, text);
}

void parse_path(struct parse *parse, const struct config_key *key, const struct doc *node,
                void *field)
{
    const size_t longest = key->max ? (size_t)key->max : PATH_MAX - 1;
    const char *text;
    char shown[QUOTE_LEN];
    if (doc_string(parse->document, node, &text, parse->errors) <= 0)
        return;
    if (*text != '/')
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = "an absolute path", .found = quote(text, shown));
    else if (strlen(text) > longest)
        doc_raise(parse->document, node, parse->errors, config_path_too_long,
                  .most = (int64_t)longest);
    else
        parse_set_string(parse, field, text);
}

void parse_clear_names(string_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    vec_clear(list);
}

static void parse_names(struct parse *parse, const struct doc *node, string_list *list)
{
    if (doc_expect(parse->document, node, DOC_LIST, parse->errors) <= 0)
        return;
    parse_clear_names(list);
    doc_each(item, node) {
        const char *text = "";
        if (doc_string(parse->document, item, &text, parse->errors) < 0)
            continue;
        if (strcmp(text, "auto") == 0) {
            doc_raise(parse->document, item, parse->errors, config_auto_in_list);
            continue;
        }
        if (*text == '\0' || strpbrk(text, "/ \t")) {
            doc_raise(parse->document, item, parse->errors, document_value_unexpected,
                      .expected = "the name of an interface, or a pattern such as \"veth*\"");
            continue;
        }
        char *copy = strdup(text);
        if (!copy || vec_push(list, copy) < 0) {
            free(copy);
            parse->error = -ENOMEM;
            return;
        }
    }
}

/* A list of names, or the word that says to find them. */
static void parse_interfaces(struct parse *parse, const struct doc *node, string_list *list,
                             bool *is_auto)
{
    if (node->type == DOC_SCALAR && strcmp(node->text, "auto") == 0) {
        parse_clear_names(list);
        *is_auto = true;
        return;
    }
    *is_auto = false;
    parse_names(parse, node, list);
}

void parse_uplinks(struct parse *parse, const struct config_key *key, const struct doc *node,
                   void *field)
{
    (void)key;
    parse_interfaces(parse, node, field, &parse_config(parse)->services.uplinks_auto);
}

void parse_pod_interfaces(struct parse *parse, const struct config_key *key, const struct doc *node,
                          void *field)
{
    (void)key;
    parse_interfaces(parse, node, field, &parse_config(parse)->services.pod_interfaces_auto);
}

void parse_claim_interfaces(struct parse *parse, const struct config_key *key,
                            const struct doc *node, void *field)
{
    (void)key;
    parse_interfaces(parse, node, field, &parse_config(parse)->addresses.interfaces_auto);
}
