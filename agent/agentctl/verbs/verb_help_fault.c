// SPDX-License-Identifier: Apache-2.0
/* The catalogue of faults, or one row of it; nobody is asked. */
#include <stdio.h>
#include <string.h>

#include "agentctl/ctl.h"
#include "agentctl/output.h"
#include "faults/catalogue.h"
#include "faults/render.h"
#include "format/json.h"

static void add_words(struct text *out, const char *title, const struct fault_type *type,
                      const char *pattern)
{
    if (!pattern)
        return;
    text_addf(out, "  %-9s ", title);
    fault_render(type, pattern, NULL, out);
    text_add_char(out, '\n');
}

static void add_type(struct text *out, const struct fault_type *type)
{
    text_addf(out, "%s (%s), since %s\n", type->code, fault_severity_name(type->severity),
              type->since);
    text_addf(out, "  %-9s %s\n", "of", type->subject);
    add_words(out, "says", type, type->message);
    add_words(out, "remedy", type, type->remedy);
    text_addf(out, "  %-9s %s\n", "means", type->meaning);
    if (type->follows)
        text_addf(out, "  %-9s %s\n", "follows", type->follows);
}

static void write_words(struct json *json, const char *key, const struct fault_type *type,
                        const char *pattern)
{
    AUTOTEXT struct text words = { 0 };
    if (pattern)
        fault_render(type, pattern, NULL, &words);
    json_string(json, key, pattern ? text_str(&words) : NULL);
}

static void write_arguments(struct json *json, const struct fault_type *type)
{
    json_begin_array(json, "arguments");
    for (const struct fault_argument *argument = type->arguments; argument->name; argument++) {
        json_begin_object(json, NULL);
        json_string(json, "name", argument->name);
        json_string(json, "type", argument->kind == FAULT_NUMBER_ARGUMENT ? "number" : "text");
        json_bool(json, "key", argument->is_key);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_follows(struct json *json, const char *codes)
{
    json_begin_array(json, "follows");
    for (const char *at = codes ? codes : ""; *at; at += strspn(at, ", ")) {
        AUTOTEXT struct text code = { 0 };
        size_t length = strcspn(at, ",");
        text_add_bytes(&code, at, length);
        json_string(json, NULL, text_str(&code));
        at += length;
    }
    json_end_array(json);
}

static void write_type(struct json *json, const struct fault_type *type)
{
    json_begin_object(json, NULL);
    json_string(json, "code", type->code);
    json_string(json, "severity", fault_severity_name(type->severity));
    json_string(json, "subject", type->subject);
    write_arguments(json, type);
    write_words(json, "message", type, type->message);
    write_words(json, "remedy", type, type->remedy);
    json_string(json, "meaning", type->meaning);
    write_follows(json, type->follows);
    json_string(json, "since", type->since);
    json_string(json, "messageId", type->message_id);
    json_end_object(json);
}

static int print_catalogue(const struct fault_type *only)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "FaultCatalogue");
    json_begin_array(&json, "items");
    for (size_t i = 0; i < fault_catalogue_count(); i++)
        if (!only || only == fault_catalogue_at(i))
            write_type(&json, fault_catalogue_at(i));
    json_end_array(&json);
    json_end_object(&json);
    text_add_char(&out, '\n');
    return print_text(&out, EXIT_OK);
}

static int print_codes(void)
{
    AUTOTEXT struct text out = { 0 };
    for (size_t i = 0; i < fault_catalogue_count(); i++) {
        const struct fault_type *type = fault_catalogue_at(i);
        text_addf(&out, "%-26s %-8s ", type->code, fault_severity_name(type->severity));
        fault_render(type, type->message, NULL, &out);
        text_add_char(&out, '\n');
    }
    return print_lines(&out, EXIT_OK);
}

int verb_help_fault(const struct ctl *ctl, char **args)
{
    const struct fault_type *type = args[0] ? fault_catalogue_find(args[0]) : NULL;
    if (args[0] && !type) {
        fprintf(stderr, "agentctl: no fault has the code '%s' (agentctl help fault lists them)\n",
                args[0]);
        return EXIT_UNKNOWN;
    }
    if (ctl->json)
        return print_catalogue(type);
    if (!type)
        return print_codes();
    AUTOTEXT struct text out = { 0 };
    add_type(&out, type);
    return print_lines(&out, EXIT_OK);
}
