// SPDX-License-Identifier: Apache-2.0
/*
 * Entries and transactions of Consul's KV; see consul_kv.h.
 *
 * A recursive GET returns one list: [{"LockIndex":0,"Key":"a","Flags":0,"Value":"...",
 * "CreateIndex":6,"ModifyIndex":6}, ...]; the value is base64, or null if it is empty. A parsed
 * tree of the list would be many times its size, so the list is split at the braces of its
 * elements, and one element is in memory at a time.
 */
#include "client/consul/consul_kv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "format/json.h"
#include "format/reader.h"

enum { ENTRY_DEPTH = 8 };

struct consul_reader {
    int (*each)(void *context, const struct consul_entry *entry);
    void *context;
    struct text element; /* what has arrived of the current element */
    unsigned depth;      /* of brackets and braces */
    bool quoted, escaped, complete;
};

struct consul_reader *
consul_reader_new(int (*each)(void *context, const struct consul_entry *entry), void *context)
{
    struct consul_reader *reader = calloc(1, sizeof(*reader));
    if (reader) {
        reader->each = each;
        reader->context = context;
    }
    return reader;
}

void consul_reader_free(struct consul_reader *reader)
{
    if (!reader)
        return;
    text_done(&reader->element);
    free(reader);
}

bool consul_reader_is_complete(const struct consul_reader *reader)
{
    return reader->complete;
}

static const char *member(const struct doc *root, const char *name)
{
    const struct doc *node = doc_get(root, name);
    return node && node->type == DOC_SCALAR ? node->text : "";
}

static int tell(struct consul_reader *reader)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE char *value = NULL;
    size_t length;
    int r = document_parse(text_str(&reader->element), reader->element.length, "entry", READER_JSON,
                           &document, &faults);
    if (r != 1)
        return r == -ENOMEM ? r : -EBADMSG;
    const char *key = member(document->root, "Key");
    r = base64_decode(member(document->root, "Value"), &value, &length);
    if (r < 0 || !*key)
        return r == -ENOMEM ? r : -EBADMSG;
    const struct consul_entry entry = {
        .key = key,
        .value = value,
        .length = length,
        .index = strtoull(member(document->root, "ModifyIndex"), NULL, 10),
        .flags = strtoull(member(document->root, "Flags"), NULL, 10),
        .session = member(document->root, "Session"),
    };
    return reader->each(reader->context, &entry);
}

/* Counts brackets. Returns false for a character that is not allowed here. */
static bool step(struct consul_reader *reader, char c)
{
    if (reader->quoted) {
        reader->quoted = reader->escaped || c != '"';
        reader->escaped = !reader->escaped && c == '\\';
        return true;
    }
    if (reader->complete || (reader->depth == 0 && c != '['))
        return strchr(" \t\r\n", c) != NULL;
    if (reader->depth == 1 && !strchr("{], \t\r\n", c))
        return false;
    reader->quoted = c == '"';
    if (c == '[' || c == '{')
        return ++reader->depth <= ENTRY_DEPTH;
    if (c == ']' || c == '}')
        reader->complete = --reader->depth == 0;
    return true;
}

int consul_reader_push(struct consul_reader *reader, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned before = reader->depth;
        if (!bytes[i] || !step(reader, bytes[i]))
            return -EBADMSG;
        if (before >= 2 || reader->depth >= 2)
            text_add_char(&reader->element, bytes[i]);
        if (reader->element.length > CONSUL_ENTRY_MAX)
            return -EBADMSG;
        if (before != 2 || reader->depth != 1)
            continue;
        int r = text_error(&reader->element);
        if (r < 0)
            return r;
        r = tell(reader);
        if (r != 0)
            return r;
        text_truncate(&reader->element, 0);
    }
    return 0;
}

static void begin_op(struct consul_txn *txn, const char *verb, const char *key, struct json *json)
{
    text_add(&txn->body, txn->ops++ ? "," : "[");
    *json = (struct json){ .out = &txn->body };
    json_begin_object(json, NULL);
    json_begin_object(json, "KV");
    json_string(json, "Verb", verb);
    json_string(json, "Key", key);
}

static void end_op(struct json *json)
{
    json_end_object(json);
    json_end_object(json);
}

void consul_txn_check_session(struct consul_txn *txn, const char *key, const char *session)
{
    struct json json;
    begin_op(txn, "check-session", key, &json);
    json_string(&json, "Session", session);
    end_op(&json);
}

void consul_txn_put(struct consul_txn *txn, const char *key, const char *value, size_t length,
                    uint64_t index, uint64_t flags)
{
    struct json json;
    begin_op(txn, "cas", key, &json);
    json_int(&json, "Index", (int64_t)index);
    json_int(&json, "Flags", (int64_t)flags);
    text_add(&txn->body, ",\"Value\":\"");
    base64_add(&txn->body, value, length);
    text_add_char(&txn->body, '"');
    end_op(&json);
}

void consul_txn_remove(struct consul_txn *txn, const char *key, uint64_t index)
{
    struct json json;
    begin_op(txn, "delete-cas", key, &json);
    json_int(&json, "Index", (int64_t)index);
    end_op(&json);
}

bool consul_txn_has_room(const struct consul_txn *txn, size_t ops, size_t bytes)
{
    return txn->ops + ops <= CONSUL_TXN_OPS &&
           (txn->ops <= 1 || txn->body.length + bytes / 3 * 4 < CONSUL_TXN_BYTES);
}

const char *consul_txn_end(struct consul_txn *txn)
{
    text_add(&txn->body, txn->ops ? "]" : "[]");
    return text_error(&txn->body) == 0 ? text_str(&txn->body) : NULL;
}

void consul_txn_done(struct consul_txn *txn)
{
    text_done(&txn->body);
    txn->ops = 0;
}

void consul_txn_reason(const char *answer, size_t size, struct text *out)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    const char *what = "";
    if (document_parse(answer, size, "answer", READER_JSON, &document, &faults) == 1) {
        const struct doc *errors = doc_get(document->root, "Errors");
        if (errors && errors->type == DOC_LIST && errors->first)
            what = member(errors->first, "What");
    }
    text_add(out, *what ? what : "refused without a reason");
}
