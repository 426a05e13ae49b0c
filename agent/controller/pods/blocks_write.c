// SPDX-License-Identifier: Apache-2.0
/*
 * The writes of the job of blocks, and their outcomes.
 *
 * A key is an object that may need a write: "AddressBlock/NAME", "AddressPool/NAME",
 * "BlockRequest/NAME/UID". The body is made from the state when the key is due
 * (plan/pods/block_plan.h). A request takes two runs: the first creates a block, the second writes
 * the answer after the source has reported the block. A controller that exits in between leaves a
 * block with the request's uid, by which the next one finds it.
 *
 * Each write has its precondition: a block its name, which no other client can create; a status, a
 * finalizer and a deletion the uid and the resourceVersion that they are based on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "controller/pods/block_body.h"
#include "controller/pods/blocks_inside.h"
#include "faults/controller.h"
#include "faults/raise.h"
#include "model/fields/finalizers.h"
#include "plan/pods/block_object.h"

int blocks_add(struct blocks_job *job, const struct object *object)
{
    bool by_uid = object->kind == KIND_BLOCK_REQUEST;
    AUTOFREE char *key = text_format("%s/%s%s%s", kind_name(object->kind), object->name,
                                     by_uid ? "/" : "", by_uid ? object->uid : "");
    return key ? job_writer_add(job->job.writers[0], key) : -ENOMEM;
}

/* The current object of a key; NULL: it was deleted, or another object has its name. */
static const struct object *object_of(const struct blocks_job *job, const char *key)
{
    static const enum kind kinds[] = { KIND_BLOCK_REQUEST, KIND_ADDRESS_BLOCK, KIND_ADDRESS_POOL };
    const char *name = strchr(key, '/') + 1, *uid = strchr(name, '/');
    AUTOFREE char *plain = strndup(name, uid ? (size_t)(uid - name) : strlen(name));
    for (size_t i = 0; plain && i < ARRAY_SIZE(kinds); i++) {
        if (strncmp(key, kind_name(kinds[i]), (size_t)(name - 1 - key)) != 0)
            continue;
        const struct object *object = store_get(job->job.board->store, kinds[i], "", plain);
        return object && uid && strcmp(object->uid, uid + 1) != 0 ? NULL : object;
    }
    return NULL;
}

/* The uid in a request's key; NULL: the key is none of a request. */
static const char *request_uid(const char *key)
{
    const char *uid = strrchr(key, '/');
    return uid != strchr(key, '/') ? uid + 1 : NULL;
}

/* ---- Writes ---- */

static int make_block(struct blocks_job *job, const struct block_entry *entry,
                      struct kube_write *write, struct text *body)
{
    const struct object *pool =
        store_get(job->job.board->store, KIND_ADDRESS_POOL, "", entry->pool);
    write_address_block(entry, to_address_pool(pool), body);
    *write = (struct kube_write){
        .verb = KUBE_CREATE,
        .target = { .group = "coil.cybozu.com",
                    .version = "v2",
                    .plural = "addressblocks",
                    .name = entry->name },
    };
    return 1;
}

static int make_answer(const struct block_request *request, const struct block_entry *entry,
                       struct kube_write *write, struct text *body)
{
    write_answer(request, entry ? entry->name : NULL, clock_wall_ms(), body);
    *write = (struct kube_write){
        .verb = KUBE_MERGE,
        .target = { .group = "coil.cybozu.com",
                    .version = "v2",
                    .plural = "blockrequests",
                    .name = request->object.name,
                    .subresource = "status" },
    };
    return 1;
}

static int make_for_request(struct blocks_job *job, const struct block_request *request,
                            struct kube_write *write, struct text *body)
{
    struct request_step step;
    int r = plan_request(job->job.board->store, &job->table, request, clock_mono_ms(), &step);
    if (r < 0)
        return r;
    /* A refusal of the API is reported until the write succeeds. */
    if (step.what != REQUEST_ANSWER ||
        request_waits_of(&job->waits, request->object.name) != WAIT_STATUS)
        request_waits_set(&job->waits, request->object.name, step.wait);
    if (job->waits.changed)
        job->job.board->wake(job->job.board->context);
    switch (step.what) {
    case REQUEST_CREATE:
        return make_block(job, step.entry, write, body);
    case REQUEST_ANSWER:
        return make_answer(request, step.entry, write, body);
    case REQUEST_WAITS:
        return step.wait == WAIT_TAKEN ? -EAGAIN : 0;
    case REQUEST_NOTHING:
        break;
    }
    return 0;
}

/*
 * A block whose Node was deleted: first the finalizer is removed, then the block, as Coil's
 * controller does it.
 */
static int make_for_block(struct blocks_job *job, const struct object *object,
                          struct kube_write *write, struct text *body)
{
    switch (plan_block_hold(job->job.board->store, &job->table, to_address_block(object),
                            clock_mono_ms())) {
    case HOLD_RELEASE:
        *write = (struct kube_write){
            .verb = KUBE_MERGE,
            .target = { .group = "coil.cybozu.com",
                        .version = "v2",
                        .plural = "addressblocks",
                        .name = object->name },
        };
        return write_finalizers(object, COIL_FINALIZER, false, body) < 0 ? -E2BIG : 1;
    case HOLD_DELETE:
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
    default:
        return 0;
    }
}

static int make_for_pool(struct blocks_job *job, const struct object *object,
                         struct kube_write *write, struct text *body)
{
    enum hold_step step = plan_pool_hold(&job->table, to_address_pool(object));
    if (step == HOLD_NOTHING)
        return 0;
    *write = (struct kube_write){
        .verb = KUBE_MERGE,
        .target = { .group = "coil.cybozu.com",
                    .version = "v2",
                    .plural = "addresspools",
                    .name = object->name },
    };
    return write_finalizers(object, COIL_FINALIZER, step == HOLD_ADD, body) < 0 ? -E2BIG : 1;
}

int blocks_make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct blocks_job *job = context;
    const struct object *object = object_of(job, key);
    if (!object)
        return 0;
    switch (object->kind) {
    case KIND_BLOCK_REQUEST:
        return make_for_request(job, to_block_request(object), write, body);
    case KIND_ADDRESS_BLOCK:
        return make_for_block(job, object, write, body);
    default:
        return make_for_pool(job, object, write, body);
    }
}

/* ---- Outcomes ---- */

/* Without memory for the key the refusal is reported until the next write. */
static void note_refused(struct blocks_job *job, const char *key)
{
    free(job->refused);
    job->refused = key ? strdup(key) : NULL;
}

/* A missing status subresource is reported with the requests that wait. */
static void tell_refusal(struct blocks_job *job, const char *key, const struct kube_told *told)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct job_write_fault fault;
    const bool same = job->refused && strcmp(job->refused, key) == 0;
    const bool fails = job_write_fails(told, NULL, same, &fault);
    if (!fails && (told->result.outcome != KUBE_DONE || (job->refused_alone && !same)))
        return;
    if (fails)
        fault_raise(&faults, "AddressBlocks", controller_blocks_unwritten, .reason = fault.why,
                    .remedy = fault.remedy);
    note_refused(job, fails ? key : NULL);
    job->refused_alone = fails && told->result.outcome != KUBE_REFUSED;
    (void)fault_book_replace(job->job.board->faults, job->job.ops->name, "writes", &faults,
                             clock_wall_ms());
}

static bool is_wanted(const struct blocks_job *job, const char *key)
{
    const struct object *object = object_of(job, key);
    return object && (object->kind != KIND_BLOCK_REQUEST || !to_block_request(object)->answered);
}

void blocks_end_refusal(struct blocks_job *job, bool forgotten)
{
    if (!forgotten && (!job->refused || is_wanted(job, job->refused)))
        return;
    note_refused(job, NULL);
    (void)fault_book_replace(job->job.board->faults, job->job.ops->name, "writes", NULL,
                             clock_wall_ms());
}

/* Whether the object in the API's answer is a block, and not a request with its status. */
static bool is_block(const struct doc *object)
{
    const struct doc *kind = doc_get(object, "kind");
    return kind && kind->type == DOC_SCALAR && strcmp(kind->text, "AddressBlock") == 0;
}

/* For a request that has its block, or can't get one, whose status can't be written. */
static void note_status(struct blocks_job *job, const char *key, const struct kube_told *told)
{
    const struct object *object = object_of(job, key);
    if (!job_lacks_status(told, object))
        return;
    request_waits_set(&job->waits, object->name, WAIT_STATUS);
    job->job.board->wake(job->job.board->context);
}

/*
 * After the block, the answer is written when the source has reported the block or a check finds
 * its name taken; after the answer nothing. If the source has reported the block before this,
 * nothing is left to settle, and the key was added.
 */
static bool told_of_request(struct blocks_job *job, const char *key, const struct kube_told *told)
{
    const char *uid = request_uid(key);
    int64_t now_ms = clock_mono_ms();
    const struct block_entry *entry = block_of_request(&job->table, uid, now_ms);
    bool creating = entry && entry->state == BLOCK_ASKED;
    switch (told->result.outcome) {
    case KUBE_UNCERTAIN:
        return true;
    case KUBE_EXISTS:
        block_settle(&job->table, uid, BLOCK_TAKEN, now_ms);
        return true;
    case KUBE_DONE:
        block_settle(&job->table, uid, BLOCK_MADE, now_ms);
        if (is_block(told->result.object))
            job->given += told->done == 1;
        else
            job->exhausted += !entry && told->done == 1;
        return true; /* a check shows whether it is so */
    default:
        block_settle(&job->table, uid, BLOCK_KNOWN, now_ms);
        note_status(job, key, told);
        return creating || told->result.outcome != KUBE_MISSING || object_of(job, key);
    }
}

bool blocks_told(void *context, const char *key, const struct kube_told *told)
{
    struct blocks_job *job = context;
    tell_refusal(job, key, told);
    return request_uid(key) ? told_of_request(job, key, told)
                            : told->result.outcome != KUBE_MISSING;
}
