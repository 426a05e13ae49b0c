// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies and answers of etcd's key-value API; see etcd_kv.h.
 *
 * The end of a range is the prefix with its last byte incremented: all keys before it begin with
 * the prefix. Protobuf members with their default value (0, false, "") are omitted from JSON, so an
 * absent member is 0.
 */
#include "client/etcd/etcd_kv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "format/json.h"
#include "format/reader.h"

void etcd_version_str(const struct etcd_version *version, char buffer[static ETCD_VERSION_LEN])
{
    (void)snprintf(buffer, ETCD_VERSION_LEN, "%" PRId64 "-%" PRIx64, version->mod_revision,
                   (uint64_t)version->lease);
}

int etcd_version_parse(const char *text, struct etcd_version *ret_version)
{
    char *end;
    struct etcd_version version = { .mod_revision = strtoll(text, &end, 10) };
    if (end == text || *end != '-')
        return -EINVAL;
    const char *lease = end + 1;
    version.lease = (int64_t)strtoull(lease, &end, 16);
    if (end == lease || *end)
        return -EINVAL;
    *ret_version = version;
    return 0;
}

/* ---- bodies ---- */

static void add_base64(struct json *json, const char *name, const char *bytes, size_t count)
{
    AUTOTEXT struct text encoded = { 0 };
    base64_add(&encoded, bytes, count);
    json_string(json, name, text_str(&encoded));
    json->out->failed |= text_error(&encoded) < 0;
}

static void add_key(struct json *json, const char *key)
{
    add_base64(json, "key", key, strlen(key));
}

static void add_prefix(struct json *json, const char *prefix)
{
    AUTOTEXT struct text end = { 0 };
    text_add(&end, prefix);
    json->out->failed |= text_error(&end) < 0;
    if (end.length)
        end.data[end.length - 1]++;
    add_key(json, prefix);
    add_base64(json, "range_end", text_str(&end), end.length);
}

static void add_number(struct json *json, const char *name, int64_t number)
{
    json_stringf(json, name, "%" PRId64, number);
}

void etcd_get(struct text *body, const char *key)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    add_key(&json, key);
    json_end_object(&json);
}

void etcd_list(struct text *body, const char *prefix)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    add_prefix(&json, prefix);
    json_end_object(&json);
}

static void begin_compare(struct json *json, const char *key, const char *target)
{
    json_begin_object(json, NULL);
    add_key(json, key);
    json_string(json, "target", target);
    json_string(json, "result", "EQUAL");
}

static void add_compare(struct json *json, const char *key, const char *target, const char *member,
                        int64_t number)
{
    begin_compare(json, key, target);
    add_number(json, member, number);
    json_end_object(json);
}

/* The key is at this version, and has this value. */
static void add_condition(struct json *json, const char *key, const struct etcd_version *version,
                          const char *value)
{
    json_begin_array(json, "compare");
    add_compare(json, key, "MOD", "mod_revision", version->mod_revision);
    if (version->mod_revision)
        add_compare(json, key, "LEASE", "lease", version->lease);
    if (value) {
        begin_compare(json, key, "VALUE");
        add_base64(json, "value", value, strlen(value));
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_put(struct json *json, const char *key, const char *value, int64_t lease)
{
    json_begin_object(json, NULL);
    json_begin_object(json, "request_put");
    add_key(json, key);
    add_base64(json, "value", value, strlen(value));
    if (lease)
        add_number(json, "lease", lease);
    json_end_object(json);
    json_end_object(json);
}

void etcd_put_if(struct text *body, const char *key, const char *value, int64_t lease,
                 const struct etcd_version *version, const char *over)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    add_condition(&json, key, version, over);
    json_begin_array(&json, "success");
    add_put(&json, key, value, lease);
    json_end_array(&json);
    json_end_object(&json);
}

void etcd_delete_if(struct text *body, const char *key, const struct etcd_version *version)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    add_condition(&json, key, version, NULL);
    json_begin_array(&json, "success");
    json_begin_object(&json, NULL);
    json_begin_object(&json, "request_delete_range");
    add_key(&json, key);
    json_end_object(&json);
    json_end_object(&json);
    json_end_array(&json);
    json_end_object(&json);
}

void etcd_watch_from(struct text *body, const char *prefix, int64_t revision)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    json_begin_object(&json, "create_request");
    add_prefix(&json, prefix);
    add_number(&json, "start_revision", revision);
    json_bool(&json, "progress_notify", true);
    json_end_object(&json);
    json_end_object(&json);
}

void etcd_grant(struct text *body, int64_t ttl_s)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    add_number(&json, "TTL", ttl_s);
    json_end_object(&json);
}

void etcd_keep_alive(struct text *body, int64_t lease)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    add_number(&json, "ID", lease);
    json_end_object(&json);
}

/* ---- answers ---- */

static const char *member(const struct doc *map, const char *name)
{
    const struct doc *node = doc_get(map, name);
    return node && node->type == DOC_SCALAR ? node->text : "";
}

static int64_t number(const struct doc *map, const char *name)
{
    return strtoll(member(map, name), NULL, 10);
}

static int parse(const char *answer, size_t size, struct document **ret_document)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = document_parse(answer, size, "etcd's answer", READER_JSON, ret_document, &faults);
    if (r == -ENOMEM)
        return r;
    return r == 1 && (*ret_document)->root->type == DOC_MAP ? 0 : -EBADMSG;
}

/* Every answer has a header. */
static int read_header(const struct doc *answer, struct etcd_header *ret_header)
{
    const struct doc *header = doc_get(answer, "header");
    *ret_header = (struct etcd_header){ .revision = number(header, "revision") };
    (void)snprintf(ret_header->cluster, sizeof(ret_header->cluster), "%s",
                   member(header, "cluster_id"));
    return header && header->type == DOC_MAP ? 0 : -EBADMSG;
}

static int tell_entry(const struct doc *kv, bool deleted, etcd_each each, void *context)
{
    AUTOFREE char *key = NULL, *value = NULL;
    size_t key_size, size;
    int r = base64_decode(member(kv, "key"), &key, &key_size);
    r = r < 0 ? r : base64_decode(member(kv, "value"), &value, &size);
    if (r < 0 || !*key)
        return r == -ENOMEM ? r : -EBADMSG;
    const struct etcd_entry entry = {
        .key = key,
        .value = value,
        .length = size,
        .version = { number(kv, "mod_revision"), number(kv, "lease") },
        .deleted = deleted,
    };
    return each(context, &entry);
}

int etcd_read_range(const char *answer, size_t size, struct etcd_header *ret_header, etcd_each each,
                    void *context)
{
    CLEANUP(document_freep) struct document *document = NULL;
    int r = parse(answer, size, &document);
    if (r < 0)
        return r;
    r = read_header(document->root, ret_header);
    if (r < 0)
        return r;
    doc_each(kv, doc_get(document->root, "kvs")) {
        r = tell_entry(kv, false, each, context);
        if (r != 0)
            return r;
    }
    return 0;
}

int etcd_read_txn(const char *answer, size_t size, struct etcd_header *ret_header,
                  bool *ret_succeeded)
{
    CLEANUP(document_freep) struct document *document = NULL;
    int r = parse(answer, size, &document);
    if (r < 0)
        return r;
    r = read_header(document->root, ret_header);
    if (r < 0)
        return r;
    *ret_succeeded = strcmp(member(document->root, "succeeded"), "true") == 0;
    return 0;
}

int etcd_read_lease(const char *answer, size_t size, int64_t *ret_lease, int64_t *ret_ttl_s)
{
    CLEANUP(document_freep) struct document *document = NULL;
    int r = parse(answer, size, &document);
    if (r < 0)
        return r;
    /* The answer to a keep-alive is one message of a stream. */
    const struct doc *result = doc_get(document->root, "result");
    result = result ? result : document->root;
    *ret_lease = number(result, "ID");
    *ret_ttl_s = number(result, "TTL");
    return *ret_lease ? 0 : -EBADMSG;
}

static int tell_events(const struct doc *events, etcd_each each, void *context)
{
    doc_each(event, events) {
        const bool deleted = strcmp(member(event, "type"), "DELETE") == 0;
        int r = tell_entry(doc_get(event, "kv"), deleted, each, context);
        if (r != 0)
            return r;
    }
    return 0;
}

int etcd_read_news(const char *message, size_t size, struct etcd_news *ret_news, etcd_each each,
                   void *context)
{
    CLEANUP(document_freep) struct document *document = NULL;
    struct etcd_news news = { 0 };
    int r = parse(message, size, &document);
    if (r < 0)
        return r;
    const struct doc *result = doc_get(document->root, "result");
    r = read_header(result, &news.header);
    if (r < 0)
        return r;
    news.created = strcmp(member(result, "created"), "true") == 0;
    news.canceled = strcmp(member(result, "canceled"), "true") == 0;
    news.compacted = number(result, "compact_revision");
    r = tell_events(doc_get(result, "events"), each, context);
    *ret_news = news;
    return r;
}
