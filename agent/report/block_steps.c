// SPDX-License-Identifier: Apache-2.0
/*
 * The writes of a node about blocks; see block_keeper.h.
 *
 * A request is created under the name that Coil's nodes give it, with the Node as an owner
 * reference: it is deleted with the Node. All deletions name the uid; that of a block also the
 * resourceVersion, so that no later change of it is overlooked.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "faults/raise.h"
#include "faults/report.h"
#include "format/json.h"
#include "model/fields/finalizers.h"
#include "report/block_keeper_inside.h"

enum { SLOW_MS = 10 * 1000 }; /* from a request to its answer */

/* ---- Returned blocks ---- */

struct errand *errand_of(struct block_keeper *keeper, const char *name)
{
    vec_each(struct errand, it, &keeper->errands) {
        if (strcmp(it->name, name) == 0)
            return it;
    }
    return NULL;
}

void forget_errand(struct block_keeper *keeper, const char *name)
{
    size_t kept = 0;
    vec_each(const struct errand, it, &keeper->errands) {
        if (strcmp(it->name, name) != 0)
            keeper->errands.items[kept++] = *it;
    }
    keeper->errands.count = kept;
}

void add_errand(struct block_keeper *keeper, const char *sort, const char *name)
{
    struct errand entry = { .until_ms = INT64_MAX };
    AUTOFREE char *key = text_format("%s/%s", sort, name);
    forget_errand(keeper, name);
    snprintf(entry.name, sizeof(entry.name), "%s", name);
    if (key && vec_push(&keeper->errands, entry) == 0 && kube_writer_add(keeper->writer, key) < 0)
        forget_errand(keeper, name);
}

/* Whether a block is to be returned now. */
static bool is_surplus(const struct block_keeper *keeper, const char *name)
{
    AUTOVEC pod_block_refs surplus = { 0 };
    int64_t next_ms;
    const struct pod_addresses *addresses = keeper->options.addresses(keeper->options.context);
    if (!addresses || plan_pod_surplus(addresses, clock_wall_ms(), keeper->options.empty_ms,
                                       &surplus, &next_ms) < 0)
        return false;
    vec_each(const struct pod_block *const, block, &surplus) {
        if (strcmp((*block)->name, name) == 0)
            return true;
    }
    return false;
}

/* ---- Writes ---- */

static void write_request(const char *name, const char *pool, const struct object *node,
                          struct text *body)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "coil.cybozu.com/v2");
    json_string(&json, "kind", "BlockRequest");
    json_begin_object(&json, "metadata");
    json_string(&json, "name", name);
    json_begin_array(&json, "ownerReferences");
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "Node");
    json_string(&json, "name", node->name);
    json_string(&json, "uid", node->uid);
    json_end_object(&json);
    json_end_array(&json);
    json_end_object(&json);
    json_begin_object(&json, "spec");
    json_string(&json, "nodeName", node->name);
    json_string(&json, "poolName", pool);
    json_end_object(&json);
    json_end_object(&json);
}

const struct object *own_node(const struct block_keeper *keeper)
{
    const struct object *node = store_get(keeper->options.store, KIND_NODE, "", keeper->node);
    return node && *node->uid ? node : NULL;
}

static const char *request_name(const struct block_keeper *keeper, const struct pool_row *row,
                                char name[static REQUEST_NAME_LEN])
{
    (void)snprintf(name, REQUEST_NAME_LEN, "req-%s-%s", row->ask.pool, keeper->node);
    return name;
}

static int make_request(const struct block_keeper *keeper, const struct pool_row *row,
                        const char *name, struct kube_write *write, struct text *body)
{
    const struct object *node = own_node(keeper);
    if (!node)
        return -EAGAIN;
    write_request(name, row->ask.pool, node, body);
    *write = (struct kube_write){
        .verb = KUBE_CREATE,
        .target = { .group = "coil.cybozu.com",
                    .version = "v2",
                    .plural = "blockrequests",
                    .name = name },
    };
    return 1;
}

int make_for_pool(struct block_keeper *keeper, const struct pool_row *row, struct kube_write *write,
                  struct text *body)
{
    const char *name = request_name(keeper, row, keeper->name);
    switch (block_ask_step(&row->ask, clock_mono_ms())) {
    case ASK_CREATE:
        return make_request(keeper, row, name, write, body);
    case ASK_READ:
        *write = (struct kube_write){
            .verb = KUBE_GET,
            .target = { .group = "coil.cybozu.com",
                        .version = "v2",
                        .plural = "blockrequests",
                        .name = name },
        };
        return 1;
    case ASK_DELETE:
        *write = (struct kube_write){
            .verb = KUBE_DELETE,
            .target = { .group = "coil.cybozu.com",
                        .version = "v2",
                        .plural = "blockrequests",
                        .name = name },
            .uid = row->ask.uid,
        };
        return 1;
    case ASK_NOTHING:
        break;
    }
    return 0;
}

static int make_deletion(struct block_keeper *keeper, const struct object *object,
                         struct kube_write *write)
{
    keeper->options.close(keeper->options.context, object->name, true);
    *write = (struct kube_write){
        .verb = KUBE_DELETE,
        .target = { .group = "coil.cybozu.com",
                    .version = "v2",
                    .plural = "addressblocks",
                    .name = object->name },
        .uid = object->uid,
        .version = object->version,
    };
    return 1;
}

static bool is_held(const struct object *object)
{
    for (uint32_t i = 0; object->ties && i < object->ties->finalizer_count; i++) {
        if (strcmp(object->ties->finalizers[i], COIL_FINALIZER) == 0)
            return true;
    }
    return false;
}

/* Whether no address of a closed block is in use. */
static bool is_empty(const struct block_keeper *keeper, const char *name)
{
    const struct pod_addresses *addresses = keeper->options.addresses(keeper->options.context);
    const struct pod_block *block = addresses ? pod_block_named(addresses, name) : NULL;
    return block && block->closed && !block->reserved && pod_block_used(addresses, block) == 0;
}

static int make_release(const struct object *object, struct kube_write *write, struct text *body)
{
    *write = (struct kube_write){
        .verb = KUBE_MERGE,
        .target = { .group = "coil.cybozu.com",
                    .version = "v2",
                    .plural = "addressblocks",
                    .name = object->name },
    };
    return write_finalizers(object, COIL_FINALIZER, false, body) < 0 ? -E2BIG : 1;
}

int make_for_block(struct block_keeper *keeper, const char *name, struct kube_write *write,
                   struct text *body)
{
    const struct object *object = store_get(keeper->options.store, KIND_ADDRESS_BLOCK, "", name);
    const bool ours = object && strcmp(to_address_block(object)->node, keeper->node) == 0;
    if (ours && !object->deleting && is_surplus(keeper, name))
        return make_deletion(keeper, object, write);
    if (ours && object->deleting && is_held(object) && is_empty(keeper, name))
        return make_release(object, write, body);
    forget_errand(keeper, name);
    return 0;
}

/* ---- Outcomes ---- */

static const struct doc *metadata(const struct doc *object, const char *key)
{
    return doc_get(doc_get(object, "metadata"), key);
}

static void made(struct pool_row *row, const struct kube_result *result)
{
    const struct doc *uid = metadata(result->object, "uid");
    if (uid && uid->type == DOC_SCALAR && strlen(uid->text) <= OBJECT_UID_MAX)
        block_ask_made(&row->ask, uid->text, clock_mono_ms());
    else
        block_ask_taken(&row->ask, clock_mono_ms());
}

static bool told_of_create(struct pool_row *row, const struct kube_result *result)
{
    if (result->outcome == KUBE_DONE)
        made(row, result);
    else if (result->outcome == KUBE_EXISTS)
        block_ask_taken(&row->ask, clock_mono_ms());
    else
        return true;
    return false;
}

static bool told_of_read(struct block_keeper *keeper, struct pool_row *row,
                         const struct kube_result *result)
{
    CLEANUP(object_freep) struct object *object = NULL;
    AUTOFAULTS struct faults errors = { 0 }, warnings = { 0 };
    if (result->outcome == KUBE_MISSING) {
        block_ask_seen(&row->ask, NULL, keeper->node, clock_mono_ms());
        return false;
    }
    if (result->outcome != KUBE_DONE)
        return true;
    const struct document document = { .root = (struct doc *)result->object, .file = "" };
    int r = object_decode_as(&document, KIND_BLOCK_REQUEST, &object, &errors, &warnings);
    if (r < 0)
        block_ask_taken(&row->ask, clock_mono_ms());
    else
        block_ask_seen(&row->ask, to_block_request(object), keeper->node, clock_mono_ms());
    return false;
}

bool told_of_pool(struct block_keeper *keeper, struct pool_row *row,
                  const struct kube_result *result)
{
    switch (row->ask.state) {
    case ASK_IDLE:
        return told_of_create(row, result);
    case ASK_FOUND:
    case ASK_WAITING:
        return told_of_read(keeper, row, result);
    case ASK_OVER:
        break;
    }
    if (result->outcome != KUBE_DONE && result->outcome != KUBE_MISSING &&
        result->outcome != KUBE_CONFLICT)
        return true;
    block_ask_ended(&row->ask);
    return false;
}

/* ---- Reports ---- */

void tell_refusal(const struct block_keeper *keeper, const struct kube_result *result)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (result->outcome == KUBE_REFUSED && result->status == 403)
        fault_raise(&faults, "AddressBlocks", block_request_forbidden, .reason = result->why);
    else if (result->outcome == KUBE_REFUSED)
        fault_raise(&faults, "AddressBlocks", block_request_refused, .reason = result->why,
                    .remedy = result->remedy);
    else if (result->outcome != KUBE_DONE)
        return;
    (void)fault_book_replace(keeper->options.faults, "pods", "block writes", &faults,
                             clock_wall_ms());
}

static void tell_row(const struct block_keeper *keeper, const struct pool_row *row, int64_t now_ms,
                     struct faults *faults)
{
    const struct block_ask *ask = &row->ask;
    char name[REQUEST_NAME_LEN];
    AUTOFREE char *pool = text_format("AddressPool %s", ask->pool),
                  *request = text_format("BlockRequest %s", request_name(keeper, row, name));
    if (!pool || !request)
        faults->incomplete = true;
    else if (row->unknown)
        fault_raise(faults, pool, block_pool_missing);
    else if (ask->exhausted && ask->wanted)
        fault_raise(faults, pool, block_pool_exhausted, .waiting = ask->waiting);
    else if (ask->wanted && !own_node(keeper))
        fault_raise(faults, pool, block_node_unknown, .node = keeper->node);
    else if (ask->foreign)
        fault_raise(faults, request, block_request_foreign);
    else if (ask->state == ASK_WAITING && !ask->arrived && now_ms - ask->since_ms >= SLOW_MS)
        fault_raise(faults, request, block_request_unanswered, .waiting = ask->waiting);
}

void tell_blocks(const struct block_keeper *keeper, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    vec_each(const struct pool_row, row, &keeper->rows)
        tell_row(keeper, row, now_ms, &faults);
    tell_lost(keeper, &faults);
    (void)fault_book_replace(keeper->options.faults, "pods", "blocks", &faults, clock_wall_ms());
}
