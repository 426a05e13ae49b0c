// SPDX-License-Identifier: Apache-2.0
/*
 * An allocator's state as JSON; see state.h. A pool is a string that contains the object as JSON,
 * since an object is decoded from a document of its own.
 */
#include "pools/state.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "faults/pools.h"
#include "format/json.h"
#include "format/reader.h"
#include "model/fields/encode.h"

enum { STATE_VERSION = 1 };

static void write_services(struct json *json, const struct assignments *assignments,
                           bool (*is_kept)(void *context, const struct assignment *row),
                           void *context)
{
    char text[IP_STRLEN];
    json_begin_array(json, "services");
    for (size_t i = 0; i < assignments->rows.count; i++) {
        const struct assignment *row = assignment_at(assignments, i);
        if (row->ips.count == 0 || (is_kept && !is_kept(context, row)))
            continue;
        json_begin_object(json, NULL);
        json_string(json, "namespace", row->namespace);
        json_string(json, "name", row->name);
        json_begin_array(json, "addresses");
        vec_each(const struct ip, ip, &row->ips)
            json_string(json, NULL, ip_str(ip, text));
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_rests(struct json *json, const struct rests *rests, size_t max)
{
    char text[IP_STRLEN];
    size_t count = rests_count(rests);
    json_begin_array(json, "resting");
    for (size_t i = count > max ? count - max : 0; i < count; i++) {
        const struct rest *rest = *(struct rest *const *)sorted_at(&rests->by_age, i);
        json_begin_object(json, NULL);
        json_string(json, "address", ip_str(&rest->ip, text));
        json_int(json, "freedMs", rest->freed_ms);
        json_string(json, "namespace", rest->namespace);
        json_string(json, "name", rest->name);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_unowned(struct json *json, const struct sorted *unowned)
{
    char text[IP_STRLEN];
    if (unowned->count == 0)
        return;
    json_begin_array(json, "unowned");
    sorted_each(const struct ip, ip, unowned)
        json_string(json, NULL, ip_str(ip, text));
    json_end_array(json);
}

void allocator_state_write(const struct pool_allocator *allocator,
                           bool (*is_kept)(void *context, const struct assignment *row),
                           void *context, size_t rests_max, struct text *out)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_int(&json, "version", STATE_VERSION);
    write_services(&json, &allocator->assignments, is_kept, context);
    write_rests(&json, &allocator->assignments.rests, rests_max);
    write_unowned(&json, &allocator->unowned);
    json_begin_array(&json, "pools");
    vec_each(struct object *, pool, &allocator->pools.objects) {
        AUTOTEXT struct text object = { 0 };
        object_encode(*pool, &object);
        out->failed |= text_error(&object) < 0;
        json_string(&json, NULL, text_str(&object));
    }
    json_end_array(&json);
    json_end_object(&json);
    text_add_char(out, '\n');
}

/* Versions before the first numbered one had no number. */
static int check_version(const struct document *document, struct faults *faults)
{
    int64_t version = STATE_VERSION;
    const struct doc *node = doc_get(document->root, "version");
    if (document->root->type != DOC_MAP) {
        doc_raise(document, document->root, faults, document_value_unexpected,
                  .expected = "an object");
        return -EBADMSG;
    }
    int r = doc_int(document, node, 1, INT64_MAX, &version, faults);
    if (r < 0)
        return r;
    if (version == STATE_VERSION)
        return 0;
    doc_raise(document, node, faults, pool_record_version_unknown);
    return -EBADMSG;
}

/* A name and a namespace; both are needed. */
static int read_key(const struct document *document, const struct doc *node,
                    struct assignment_key *ret_key, struct faults *faults)
{
    const char *const fields[] = { "namespace", "name" };
    const char **const values[] = { &ret_key->namespace, &ret_key->name };
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        int r = doc_string(document, doc_get(node, fields[i]), values[i], faults);
        if (r == 0)
            doc_raise(document, node, faults, document_member_missing, .member = fields[i]);
        if (r <= 0)
            return -EBADMSG;
    }
    return 0;
}

static int read_ip(const struct document *document, const struct doc *node, struct ip *ret_ip,
                   struct faults *faults)
{
    const char *text = "";
    int r = doc_string(document, node, &text, faults);
    if (r >= 0 && ip_parse(text, ret_ip) == 0)
        return 0;
    if (r >= 0)
        doc_raise(document, node, faults, document_value_unexpected, .expected = "an address");
    return -EBADMSG;
}

static int read_service(const struct document *document, const struct doc *node,
                        struct pool_allocator *allocator, struct faults *faults)
{
    struct assignment_key key;
    struct ip ip;
    int r = read_key(document, node, &key, faults);
    if (r < 0)
        return r;
    doc_each(address, doc_get(node, "addresses")) {
        r = read_ip(document, address, &ip, faults);
        if (r < 0)
            return r;
        r = assignments_hold(&allocator->assignments, key.namespace, key.name, &ip);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_rest(const struct document *document, const struct doc *node,
                     struct pool_allocator *allocator, struct faults *faults)
{
    struct assignment_key key;
    struct ip ip;
    int64_t freed_ms = 0;
    int r = read_key(document, node, &key, faults);
    if (r < 0)
        return r;
    r = read_ip(document, doc_get(node, "address"), &ip, faults);
    if (r < 0)
        return r;
    r = doc_int(document, doc_get(node, "freedMs"), 0, INT64_MAX, &freed_ms, faults);
    if (r < 0)
        return r;
    return assignments_rest(&allocator->assignments, &ip, freed_ms, key.namespace, key.name);
}

static int read_unowned(const struct document *document, const struct doc *node,
                        struct pool_allocator *allocator, struct faults *faults)
{
    struct ip ip;
    int r = read_ip(document, node, &ip, faults);
    return r == 0 ? sorted_put(&allocator->unowned, &ip) : r;
}

static int read_pool(const struct document *document, const struct doc *node,
                     struct pool_allocator *allocator, struct faults *faults)
{
    CLEANUP(document_freep) struct document *own = NULL;
    AUTOFAULTS struct faults warnings = { 0 };
    struct object *object = NULL;
    const char *text = "";
    int r = doc_string(document, node, &text, faults);
    if (r < 0)
        return r;
    r = document_parse(text, strlen(text), document->file, READER_JSON, &own, faults);
    if (r == 1)
        r = object_decode_as(own, KIND_IP_POOL, &object, faults, &warnings);
    if (r == 0)
        doc_raise(document, node, faults, document_value_unexpected,
                  .expected = "an IPAddressPool");
    if (r <= 0)
        return r < 0 ? r : -EBADMSG;
    return pools_in_force_add(&allocator->pools, object);
}

int allocator_state_read(const struct document *document, struct pool_allocator *allocator,
                         struct faults *faults)
{
    static const struct {
        const char *list;
        int (*read)(const struct document *document, const struct doc *node,
                    struct pool_allocator *allocator, struct faults *faults);
    } parts[] = {
        { "services", read_service },
        { "resting", read_rest },
        { "pools", read_pool },
        { "unowned", read_unowned },
    };
    int known = check_version(document, faults);
    if (known < 0)
        return known;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        doc_each(node, doc_get(document->root, parts[i].list)) {
            int r = parts[i].read(document, node, allocator, faults);
            if (r < 0)
                return r;
        }
    }
    return 0;
}
