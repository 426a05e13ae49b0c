// SPDX-License-Identifier: Apache-2.0
/*
 * Exports of any annotations: the first line is the template of keys, each further one the text of
 * an annotation, in their order. Whatever they say, a Service is refused as a whole or has one
 * document for each port, each a JSON object under a key of its own that says the same as itself;
 * and once the documents and their markers are there, nothing is left to be written.
 */
#include <errno.h>
#include <string.h>

#include "format/json.h"
#include "format/reader.h"
#include "fuzz.h"
#include "model/services/service_export.h"
#include "plan/export/export.h"
#include "plan/export/export_diff.h"

enum { LINES_MAX = EXPORT_ANNOTATIONS };

/* Lines of the input, cut in place. */
struct lines {
    const char *texts[LINES_MAX];
    size_t count;
};

static struct lines cut(char *text)
{
    struct lines lines = { 0 };
    while (text && lines.count < LINES_MAX) {
        char *end = strchr(text, '\n');
        lines.texts[lines.count++] = text;
        if (end)
            *end++ = '\0';
        text = end;
    }
    return lines;
}

static void write_service(const struct lines *lines, struct text *out)
{
    struct json json = { .out = out };
    text_add(out, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\","
                  "\"namespace\":\"default\",\"uid\":\"u\",\"annotations\":");
    json_begin_object(&json, NULL);
    json_string(&json, export_annotation_name(EXPORT_EXPORTED), "true");
    for (size_t i = 1; i < lines->count; i++)
        json_string(&json, export_annotation_name((enum export_annotation)i), lines->texts[i]);
    json_end_object(&json);
    text_add(out, "},\"spec\":{\"type\":\"NodePort\",\"clusterIP\":\"10.96.0.1\",\"ports\":["
                  "{\"name\":\"http\",\"port\":80,\"nodePort\":30080},"
                  "{\"name\":\"dns\",\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"}]}}");
    MUST(text_error(out) == 0);
}

static void put_service(struct store *store, const struct lines *lines)
{
    AUTOTEXT struct text text = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    write_service(lines, &text);
    MUST(document_parse(text_str(&text), text.length, "f", READER_JSON, &document, &faults) == 1);
    MUST(object_decode(document, &object, NULL, &faults, &faults) == 1);
    MUST(store_put(store, "f", object) >= 0);
}

static void check_document(const struct export_document *document)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *parsed = NULL;
    const char *value = document->value;
    MUST(strlen(document->key) <= EXPORT_KEY_MAX && strlen(value) <= EXPORT_VALUE_MAX);
    MUST(document_parse(value, strlen(value), "f", READER_JSON, &parsed, &faults) == 1);
    MUST(export_same(value, value, strlen(value)) == 1);
}

/* As KV is after everything was written. */
static void check_written(const struct export_config *config, const struct export_plan *plan)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC export_entries have = { 0 };
    const struct export_hold hold = { .shrink_percent = 50 };
    CLEANUP(export_diff_done) struct export_diff first = { 0 }, second = { 0 };
    MUST(export_diff(config, plan, &have, &hold, &first, &faults) == 0);
    vec_each(const struct export_op, op, &first.ops) {
        MUST(!op->remove);
        const struct export_entry entry = { op->key, op->value, strlen(op->value), 1 };
        MUST(vec_push(&have, entry) == 0);
    }
    vec_sort(&have, export_entry_cmp);
    for (size_t i = 1; i < have.count; i++)
        MUST(strcmp(have.items[i - 1].key, have.items[i].key) < 0);
    MUST(export_diff(config, plan, &have, &hold, &second, &faults) == 0);
    MUST(second.ops.count == 0 && faults_none(&faults));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTOFREE char *text = strndup((const char *)bytes, size);
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(store_freep) struct store *store = store_new();
    CLEANUP(export_plan_done) struct export_plan plan = { 0 };
    struct export_config config;
    MUST(text && store && export_config_defaults(&config) == 0);
    struct lines lines = cut(text);
    free(config.key_template);
    config.cluster = strdup("lab");
    config.key_template = strdup(lines.texts[0]);
    config.details = size % 2;
    MUST(config.cluster && config.key_template);
    plan_export_check(&config, &faults);
    put_service(store, &lines);
    MUST(plan_export(&config, store, 0, &plan, &faults) == 0);
    MUST(plan.refusals.count + plan.services == 1);
    MUST(plan.documents.count == 1 + 2 * plan.services);
    vec_each(const struct export_document, document, &plan.documents)
        check_document(document);
    check_written(&config, &plan);
    export_config_done(&config);
    return 0;
}
