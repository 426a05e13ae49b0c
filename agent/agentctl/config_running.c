// SPDX-License-Identifier: Apache-2.0
/*
 * Compares what an agent runs with and what a file says; see config_running.h.
 *
 * Both are lists of settings in one order, values in the words of the file. A section that is not
 * there is one setting without a value, so that a key may be in one of the lists only.
 */
#include "agentctl/config_running.h"

#include <string.h>

#include "agentctl/field.h"
#include "agentctl/tables.h"
#include "base/macro.h"

static const struct doc *setting_in(const struct doc *document, const char *key)
{
    doc_each(item, doc_get(document, "items")) {
        if (field_is(item, "key", key))
            return item;
    }
    return NULL;
}

static bool is_same(const struct doc *a, const struct doc *b)
{
    if (!a || !b || a->type != b->type)
        return !a && !b;
    if (a->type == DOC_SCALAR)
        return strcmp(a->text, b->text) == 0;
    const struct doc *left = a->first, *right = b->first;
    for (; left && right; left = left->next, right = right->next) {
        if (!is_same(left, right))
            return false;
    }
    return left == right; /* both are at their end */
}

/* As the file would have it on one line; "-" of what is not set. */
static void add_value(struct text *out, const struct doc *value)
{
    if (!value) {
        text_add_char(out, '-');
    } else if (value->type == DOC_SCALAR) {
        text_add(out, value->text);
    } else {
        text_add_char(out, value->type == DOC_MAP ? '{' : '[');
        doc_each(member, value) {
            text_addf(out, "%s%s%s", member == value->first ? "" : ", ",
                      value->type == DOC_MAP ? member->key : "",
                      value->type == DOC_MAP ? ": " : "");
            add_value(out, member->type == DOC_NULL ? NULL : member);
        }
        text_add_char(out, value->type == DOC_MAP ? '}' : ']');
    }
}

/* What a reload refuses to change; agentd/reload.c says so, too. */
static bool takes_restart(const struct doc *running, const char *key)
{
    static const char *const fixed[] = {
        "source.manifests",    "source.maxFileSize",
        "routes.table",        "services.enabled",
        "services.maps.flows", "services.maps.services",
        "egress.enabled",      "services.maps.endpoints",
        "egress.gateway",      "pools.allocate",
        "pods.enabled",        "pods.table",
        "api.listen",          "paths.run",
        "paths.state",         "paths.bpf",
    };
    const struct doc *kubernetes = doc_get(setting_in(running, "source.kubernetes"), "value");
    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
        if (strcmp(fixed[i], key) == 0)
            return true;
    }
    return kubernetes && (strcmp(key, "node") == 0 || strcmp(key, "services.proxyName") == 0);
}

/* Of a source that is the API, what names it is fixed; whether Events are written is not. */
static bool is_another_source(const struct doc *a, const struct doc *b)
{
    return !a || !b || !is_same(doc_get(a, "kubeconfig"), doc_get(b, "kubeconfig"));
}

struct difference {
    const char *key;
    const struct doc *running, *file; /* values */
    bool restart;
};

/* Calls `each` for every difference, in the file's order, then what only the agent has. */
static size_t differences(const struct config_running *both,
                          void (*each)(const struct difference *, void *context), void *context)
{
    const struct doc *const lists[] = { both->file, both->running };
    size_t count = 0;
    for (size_t i = 0; both->file && i < ARRAY_SIZE(lists); i++) {
        doc_each(item, doc_get(lists[i], "items")) {
            const char *key = field(item, "key");
            const struct doc *here = setting_in(both->running, key);
            const struct doc *there = setting_in(both->file, key);
            if (i > 0 && there)
                continue; /* compared already */
            struct difference found = { key, doc_get(here, "value"), doc_get(there, "value") };
            if (is_same(found.running, found.file))
                continue;
            found.restart = strcmp(key, "source.kubernetes") == 0
                                ? is_another_source(found.running, found.file)
                                : takes_restart(both->running, key) ||
                                      ((!here || !there) && strstr(key, "egress.gateway"));
            if (each)
                each(&found, context);
            count++;
        }
    }
    return count;
}

size_t config_running_count(const struct config_running *both)
{
    return differences(both, NULL, NULL);
}

static void write_value(struct json *json, const char *key, const struct doc *value)
{
    AUTOTEXT struct text text = { 0 };
    if (value)
        add_value(&text, value);
    json_string(json, key, value ? text_str(&text) : NULL);
}

static void write_difference(const struct difference *found, void *context)
{
    struct json *json = context;
    json_begin_object(json, NULL);
    json_string(json, "key", found->key);
    write_value(json, "running", found->running);
    write_value(json, "file", found->file);
    json_string(json, "takes", found->restart ? "restart" : "reload");
    json_end_object(json);
}

void config_running_write(struct json *json, const struct config_running *both)
{
    if (!both->running) {
        json_null(json, "running");
        return;
    }
    json_begin_object(json, "running");
    json_string(json, "path", field(both->running, "path"));
    json_string(json, "loadedAt", field(both->running, "loadedAt"));
    json_bool(json, "refused", field_true(both->running, "refused"));
    json_begin_array(json, "differences");
    (void)differences(both, write_difference, json);
    json_end_array(json);
    json_end_object(json);
}

struct lines {
    struct text *out;
    bool restart;
};

static void add_difference(const struct difference *found, void *context)
{
    struct lines *lines = context;
    AUTOTEXT struct text running = { 0 }, file = { 0 };
    add_value(&running, found->running);
    add_value(&file, found->file);
    add_clean(lines->out, found->key);
    text_add(lines->out, ": the agent runs with ");
    add_clean(lines->out, text_str(&running));
    text_add(lines->out, ", the file has ");
    add_clean(lines->out, text_str(&file));
    text_add(lines->out, found->restart ? " (takes a restart)\n" : "\n");
    lines->restart |= found->restart;
}

void config_running_add(struct text *out, const struct config_running *both)
{
    struct lines lines = { .out = out };
    if (differences(both, add_difference, &lines) == 0) {
        text_add(out, both->file ? "The agent runs with these settings.\n"
                                 : "The agent runs with an older file; a reload would refuse "
                                   "this one.\n");
        return;
    }
    text_add(out, lines.restart ? "-> systemctl restart agentd: a reload would be refused as a "
                                  "whole\n"
                                : "-> systemctl reload agentd\n");
}
