// SPDX-License-Identifier: Apache-2.0
/*
 * The writes of the job of addresses: the status of Services and of pools, and Events. Called by
 * address_job.c, which decides; a write is made from the state when its key is due.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/kube/kube_event.h"
#include "controller/pools/address_body.h"
#include "controller/pools/address_inside.h"
#include "plan/pools/foreign_status.h"

enum { EVENT_TRIES = 6 };

/* A migration of ten thousand Services is done in ten seconds, if the API is as quick; sixteen
 * writes at once leave the API to other clients if it is not. */
static const struct kube_writer_limits status_limits = {
    .queue = { .keys = 65536,
               .parallel = 16,
               .per_second = 1500,
               .burst = 2000,
               .initial_ms = 5,
               .max_ms = KUBE_WRITER_PATIENCE_MS },
    .answer_ms = MINUTE_MS / 2,
};

char *address_key(const struct object *object)
{
    return text_format("%s/%s", object->namespace, object->name);
}

/* Splits a key; returns its object, or NULL. */
const struct object *address_object(const struct address_job *job, enum kind kind, const char *key)
{
    const char *slash = strchr(key, '/');
    AUTOFREE char *namespace = slash ? strndup(key, (size_t)(slash - key)) : NULL;
    return namespace ? store_get(job->job.board->store, kind, namespace, slash + 1) : NULL;
}

static bool has_ip(const ip_list *ips, const struct ip *ip)
{
    vec_each(const struct ip, own, ips) {
        if (ip_equal(own, ip))
            return true;
    }
    return false;
}

bool address_is_told(const struct service *service, const struct ip *ip)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode &&
            ip_equal(&address->ip, ip))
            return true;
    }
    return false;
}

/* ---- Writes of Services ---- */

/* Whether another Service's status still has an address that was taken from that Service. */
static bool is_still_told(const struct address_job *job, const struct service *service,
                          const struct ip *ip)
{
    size_t count;
    const struct service *const *others = store_services_at(job->job.board->store, ip, &count);
    for (size_t i = 0; i < count; i++) {
        const struct object *object = &others[i]->object;
        if (others[i] == service || !address_is_told(others[i], ip))
            continue;
        const struct assignment *row =
            assignment_of(&job->allocator.assignments, object->namespace, object->name);
        if (!row || !has_ip(&row->ips, ip))
            return true;
    }
    return false;
}

/* Whether everything in the row may be written to the Service. */
static bool may_tell(const struct address_job *job, const struct service *service,
                     const struct assignment *row, const char *key)
{
    const struct behind *behind = behind_find(&job->behind, key);
    vec_each(const struct ip, ip, &row->ips) {
        if (address_is_told(service, ip))
            continue;
        if (!behind || !behind->claimed || !has_ip(&behind->claim, ip) ||
            is_still_told(job, service, ip))
            return false;
    }
    return true;
}

/* The write of an object's status; the body is complete. Returns 1, or -ENOMEM. */
static int write_status(enum kube_verb verb, const struct kube_target *resource,
                        const struct object *object, const struct text *body,
                        struct kube_write *write)
{
    *write = (struct kube_write){
        .verb = verb,
        .target = *resource,
        .body = text_str(body),
        .manager = ADDRESS_MANAGER,
        .force = verb == KUBE_APPLY,
        .brief = true,
    };
    write->target.subresource = "status";
    write->target.name = object->name;
    write->target.namespace = object->namespace;
    return text_error(body) < 0 ? -ENOMEM : 1;
}

/* A write that the API refuses, or does not execute, is a fault of the object. Returns whether the
 * object still exists, so that the write is retried or checked. */
static bool note_answer(struct address_job *job, enum kind kind, const char *key,
                        const struct kube_told *told)
{
    const struct object *object = address_object(job, kind, key);
    const bool gone = told->result.outcome == KUBE_MISSING && !object;
    AUTOFREE char *place = text_format("%s %s", kind_name(kind), key);
    if (place)
        job_write_note(&job->refusals, place, "its status can't be written", told, object);
    if (place && gone)
        refusals_end(&job->refusals, place);
    if (job->refusals.changed)
        job->job.board->wake(job->job.board->context);
    return !gone;
}

/* There is nothing to write to it any more. */
void address_forget_refusal(struct address_job *job, const struct object *object)
{
    AUTOFREE char *place =
        text_format("%s %s/%s", kind_name(object->kind), object->namespace, object->name);
    if (place)
        refusals_end(&job->refusals, place);
}

/*
 * Whether the status of a Service that is not ours any more has been written by another controller.
 */
static bool has_others(const struct address_job *job, const struct service *service)
{
    bool outside = false;
    for (uint32_t i = 0; i < service->address_count; i++)
        outside |= service->addresses[i].origin == ADDRESS_LOAD_BALANCER &&
                   !pool_at(&job->allocator.table, &service->addresses[i].ip);
    return outside || status_is_foreign(&job->allocator.table, service);
}

static int make_status(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct address_job *job = context;
    const struct object *object = address_object(job, KIND_SERVICE, key);
    if (!object || !job->begun || object->deleting)
        return 0;
    const struct service *service = to_service(object);
    const struct assignment *row =
        assignment_of(&job->allocator.assignments, object->namespace, object->name);
    if (row ? assignment_is_foreign(row) || address_status_is(service, row) : !service->assigned) {
        address_forget_refusal(job, object);
        return 0;
    }
    if (row && !may_tell(job, service, row, key))
        return 0;
    contests_see(&job->contests, service, row ? &row->ips : &(ip_list){ 0 }, clock_mono_ms());
    const int64_t now_wall_ms = clock_wall_ms();
    address_status_write(service, row, !has_others(job, service), now_wall_ms, body);
    const struct kube_target services = { .group = "", .version = "v1", .plural = "services" };
    return write_status(KUBE_STRATEGIC, &services, object, body, write);
}

/* Notes what was written, if it is still wanted, to find repeated writes. */
static void note_contest(struct address_job *job, const char *key)
{
    const struct object *object = address_object(job, KIND_SERVICE, key);
    const struct assignment *row =
        object ? assignment_of(&job->allocator.assignments, object->namespace, object->name) : NULL;
    if (row && row->ips.count &&
        contests_note(&job->contests, to_service(object), &row->ips, clock_mono_ms()))
        job->job.board->wake(job->job.board->context);
}

static bool told_status(void *context, const char *key, const struct kube_told *told)
{
    if (told->result.outcome == KUBE_DONE)
        note_contest(context, key);
    return note_answer(context, KIND_SERVICE, key, told);
}

/* ---- Writes of pools ---- */

/* The last write of a pool: the source may not have reported it yet. */
struct pool_note {
    struct service_note note;
    struct ip_pool_counts counts;
};

static bool counts_equal(const struct ip_pool_counts *a, const struct ip_pool_counts *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/*
 * Whether the status of a pool is as wanted, as far as is known; otherwise it is noted as written.
 */
static bool pool_says(struct service_notes *notes, const struct object *object,
                      const struct ip_pool_counts *counts)
{
    struct pool_note *note = (struct pool_note *)service_notes_find(notes, object);
    if (counts_equal(&to_ip_pool(object)->counts, counts) &&
        (!note || counts_equal(&note->counts, counts)))
        return true;
    if (!note)
        note = (struct pool_note *)service_notes_get(notes, object);
    if (note)
        note->counts = *counts;
    return false;
}

void counts_init(struct service_notes *notes)
{
    service_notes_init(notes, sizeof(struct pool_note), NULL);
}

static int make_pool(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct address_job *job = context;
    const struct object *object = address_object(job, KIND_IP_POOL, key);
    const struct pool *pool = object ? pool_allocator_find(&job->allocator, object) : NULL;
    struct pool_use use;
    if (!pool || pool_use_count(&job->allocator.assignments, &job->allocator.table, pool, &use) < 0)
        return 0;
    const struct ip_pool_counts counts = address_pool_counts(&use);
    if (pool_says(&job->counts, object, &counts)) {
        address_forget_refusal(job, object);
        return 0;
    }
    address_pool_status_write(object, &counts, body);
    const struct kube_target pools = { .group = "metallb.io",
                                       .version = "v1beta1",
                                       .plural = "ipaddresspools" };
    return write_status(KUBE_APPLY, &pools, object, body, write);
}

/* Counts are not checked: a difference is written again with the next change. */
static bool told_pool(void *context, const char *key, const struct kube_told *told)
{
    return note_answer(context, KIND_IP_POOL, key, told) && told->result.outcome != KUBE_DONE;
}

int address_count_pools(struct address_job *job)
{
    if (job->counted == pool_allocator_version(&job->allocator))
        return 0;
    job->counted = pool_allocator_version(&job->allocator);
    if (service_notes_count(&job->counts) > job->allocator.table.pools.count)
        service_notes_clear(&job->counts); /* some pools were removed */
    vec_each(const struct pool, pool, &job->allocator.table.pools) {
        AUTOFREE char *key = address_key(&pool->object->object);
        int r = key ? job_writer_add(job->job.writers[ADDRESS_POOLS], key) : -ENOMEM;
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Events ---- */

static int make_event(void *context, const char *key, struct kube_write *write, struct text *body)
{
    static char name[KUBE_EVENT_NAME_MAX + 1]; /* borrowed until the next call */
    struct address_job *job = context;
    const struct object *object = address_object(job, KIND_SERVICE, key);
    const struct assignment *row =
        object ? assignment_of(&job->allocator.assignments, object->namespace, object->name) : NULL;
    if (!row || !assignment_is_pending(row))
        return 0;
    const int64_t now_wall_ms = clock_wall_ms();
    address_event_write(to_service(object), row, job->job.board->status->election.identity,
                        now_wall_ms, name, body);
    *write = kube_event_create(object->namespace, name);
    return text_error(body) < 0 ? -ENOMEM : 1;
}

/* Events are dropped rather than retried for long: the condition says the same. */
static bool told_event(void *context, const char *key, const struct kube_told *told)
{
    (void)context, (void)key;
    return told->result.outcome != KUBE_DONE && told->result.outcome != KUBE_EXISTS &&
           told->result.outcome != KUBE_MISSING && told->tries < EVENT_TRIES;
}

const struct job_writer_row address_writers[] = {
    [ADDRESS_SERVICES] = { &status_limits, make_status, told_status },
    [ADDRESS_POOLS] = { NULL, make_pool, told_pool },
    [ADDRESS_EVENTS] = { NULL, make_event, told_event },
    [ADDRESS_LOSSES] = { NULL, address_loss_make, address_loss_told },
    { 0 },
};
