// SPDX-License-Identifier: Apache-2.0
/*
 * The job that allocates addresses from pools to Services of type LoadBalancer.
 *
 *   leads --> read the record of claims --> Services known up to where it speaks of --> decide
 *   decide (pools/allocator.h) --> claim what is new (address_claims.h) --> write statuses
 *
 * Addresses of Services are stored only in their status. The record of claims has allocations that
 * are not written yet, addresses in cooldown, and the pools in force. An address is written to a
 * Service only when the claim is stored, and when no other Service's status has it any more; a
 * release needs no claim. A status is written under the resourceVersion that was decided on.
 *
 * If a controller of MetalLB is running and no loadBalancerClass separates its Services from ours,
 * nothing is allocated.
 */
#include "controller/pools/address_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/view_controller.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "controller/pools/address_body.h"
#include "controller/pools/address_inside.h"
#include "faults/controller.h"
#include "faults/raise.h"
#include "format/reader.h"
#include "pools/state.h"

/* The data of a ConfigMap are limited to a MiB: so many claims, whose names may be long, fit. */
enum { CLAIMS_KEPT = 1000, RESTS_KEPT = 4096, STATE_MAX = 1000000 };

static struct address_job *to_job(struct job *job)
{
    return (struct address_job *)job;
}

/* ---- The record of claims ---- */

static void reset(struct address_job *job)
{
    pool_allocator_done(&job->allocator);
    pool_allocator_init(&job->allocator);
    behind_clear(&job->behind);
    job->chosen = 0;
    faults_done(&job->unreadable);
    service_notes_clear(&job->counts);
    service_notes_clear(&job->losses);
    job->begun = job->needs_claim = job->freed = false;
    job->written = job->writing = job->counted = job->surveyed = 0;
    job->retry_ms = INT64_MAX;
    job->doubt_ms = 0;
}

static void tell_claims(const struct address_job *job)
{
    AUTOFAULTS struct faults faults = { 0 };
    address_claims_faults(job->claims, &faults);
    vec_each(const struct fault, fault, &job->unreadable.list)
        faults_add_copy(&faults, fault->place, fault);
    (void)fault_book_replace(job->job.board->faults, "addresses", "claims", &faults,
                             clock_wall_ms());
}

/*
 * A record is written after everything that it refers to. A `seen` beyond the record's own version
 * is from before etcd was restored from a backup, and is never reached, since versions have gone
 * back. Then Services have to be as new as the record itself.
 */
static void bound_seen(struct address_job *job)
{
    const char *version = address_claims_version(job->claims);
    if (*version && object_version_is_older(version, job->seen))
        (void)snprintf(job->seen, sizeof(job->seen), "%s", version);
}

/* If the record can't be read, nothing is allocated: its claims are unknown. */
static void on_read(void *context, const char *state, const char *seen)
{
    struct address_job *job = context;
    CLEANUP(document_freep) struct document *document = NULL;
    int r = 0;
    reset(job);
    if (state)
        r = document_parse(state, strlen(state), "ConfigMap fingerpost-addresses", READER_JSON,
                           &document, &job->unreadable);
    if (state && r == 0) {
        fault_raise(&job->unreadable, "ConfigMap fingerpost-addresses",
                    controller_record_stateless);
        r = -EBADMSG;
    }
    if (r == 1)
        r = allocator_state_read(document, &job->allocator, &job->unreadable);
    if (job->unreadable.list.count)
        fault_raise(&job->unreadable, "ConfigMap fingerpost-addresses",
                    controller_record_unreadable);
    (void)snprintf(job->seen, sizeof(job->seen), "%s", seen);
    bound_seen(job);
    job->begun = r >= 0;
    if (r == -ENOMEM)
        address_claims_begin(job->claims);
    tell_claims(job);
}

static void on_written(void *context)
{
    struct address_job *job = context;
    job->written = job->writing;
    bound_seen(job);
    sorted_each(struct behind *const, behind, &job->behind) {
        if (!(*behind)->chosen)
            continue;
        (*behind)->claimed = true;
        (void)job_writer_add(job->job.writers[ADDRESS_SERVICES], (*behind)->key);
    }
}

static void on_lost(void *context)
{
    reset(context);
}

static void on_gone(void *context)
{
    struct address_job *job = context;
    log_notice("the record of addresses (ConfigMap fingerpost-addresses) was deleted by somebody: "
               "it is written anew");
    if (!job->begun)
        address_claims_begin(job->claims);
    job->written = UINT64_MAX;
}

/* Whether the known Services are as new as those that the record refers to. */
static bool is_recent(const struct address_job *job)
{
    const struct kube_status *kube = &job->job.board->status->source.kube;
    for (size_t i = 0; i < kube->count; i++) {
        if (strcmp(kube->kinds[i].kind, "Service") == 0)
            return !object_version_is_older(kube->kinds[i].resource_version, job->seen);
    }
    return false;
}

static bool is_claimed_row(void *context, const struct assignment *row)
{
    AUTOFREE char *key = text_format("%s/%s", row->namespace, row->name);
    const struct behind *behind =
        key ? behind_find(&((const struct address_job *)context)->behind, key) : NULL;
    return !key || (behind && behind->chosen);
}

/*
 * Chooses the Services whose addresses the next write claims. A claim stays until its Service has
 * the address; others are added as room is made, half of it at a time. Returns whether one is new.
 */
static bool choose(struct address_job *job)
{
    size_t room = job->chosen < CLAIMS_KEPT ? CLAIMS_KEPT - job->chosen : 0;
    size_t waiting = job->behind.count - job->chosen;
    if (waiting > room && room < CLAIMS_KEPT / 2)
        return false;
    sorted_each(struct behind *const, behind, &job->behind) {
        if ((*behind)->chosen || room == 0)
            continue;
        (*behind)->chosen = true;
        job->chosen++;
        room--;
        waiting--;
    }
    job->needs_claim = waiting > 0;
    return true;
}

static bool is_claim(const struct behind *behind, const struct assignment *row)
{
    bool same = behind->claimed && row && behind->claim.count == row->ips.count;
    for (size_t i = 0; same && i < row->ips.count; i++)
        same = ip_equal(&behind->claim.items[i], &row->ips.items[i]);
    return same;
}

/* Sets the claims of the write that begins now. Claims that the record has already stay valid
 * meanwhile: their statuses need not wait for the write. */
static int fix_claims(struct address_job *job)
{
    sorted_each(struct behind *const, behind, &job->behind) {
        if (!(*behind)->chosen)
            continue;
        const struct object *object = address_object(job, KIND_SERVICE, (*behind)->key);
        const struct assignment *row =
            object ? assignment_of(&job->allocator.assignments, object->namespace, object->name)
                   : NULL;
        if (is_claim(*behind, row))
            continue;
        vec_clear(&(*behind)->claim);
        (*behind)->claimed = false;
        if (row && vec_append(&(*behind)->claim, &row->ips) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* As many addresses in cooldown as fit beside the claims and the pools: the youngest. */
static int write_state(const struct address_job *job, struct text *ret_state)
{
    for (size_t rests = RESTS_KEPT;; rests /= 2) {
        text_done(ret_state);
        allocator_state_write(&job->allocator, is_claimed_row, (void *)job, rests, ret_state);
        if (text_error(ret_state) < 0 || ret_state->length < STATE_MAX || rests == 0)
            return text_error(ret_state);
    }
}

static int claim(struct address_job *job)
{
    AUTOTEXT struct text state = { 0 };
    bool more = job->needs_claim && choose(job);
    if (!more && job->written == pool_allocator_version(&job->allocator))
        return 0;
    int r = write_state(job, &state) < 0 ? -ENOMEM : fix_claims(job);
    if (r == 0) {
        job->writing = pool_allocator_version(&job->allocator);
        r = address_claims_write(job->claims, text_str(&state), job->seen);
    }
    job->needs_claim |= r < 0;
    return r;
}

/* ---- Deciding ---- */

/* Called for every Service that was decided: compares the decision with its status. */
static void on_assigned(void *context, const struct assignment *row, const struct service *service)
{
    struct address_job *job = context;
    AUTOFREE char *key = address_key(&service->object);
    if (!key) {
        job->allocator.all = true;
        return;
    }
    if (assignment_is_foreign(row) || address_status_is(service, row)) {
        address_forget_refusal(job, &service->object);
        if (object_version_is_older(job->seen, service->object.version))
            (void)snprintf(job->seen, sizeof(job->seen), "%s", service->object.version);
        job->chosen -= behind_drop(&job->behind, key);
        losses_settle(&job->losses, &service->object, false);
        return;
    }
    address_loss_note(job, row, service);
    if (behind_add(&job->behind, key) < 0)
        job->allocator.all = true;
    vec_each(const struct ip, ip, &row->ips)
        job->needs_claim |= !address_is_told(service, ip);
    (void)job_writer_add(job->job.writers[ADDRESS_SERVICES], key);
    if (assignment_is_pending(row))
        (void)job_writer_add(job->job.writers[ADDRESS_EVENTS], key);
}

static int decide(struct address_job *job)
{
    const struct pool_allocator_inputs inputs = {
        .store = job->job.board->store,
        .load_balancer_class = job->job.board->config->addresses.load_balancer_class,
        .now_ms = clock_wall_ms(),
        .rest_ms = job->job.board->config->addresses.rest_ms,
    };
    const bool rival = !*inputs.load_balancer_class && address_has_rival(job);
    if (job->allocator.pools.objects.count == 0 &&
        store_count(job->job.board->store, KIND_IP_POOL) == 0)
        return 0; /* without pools, this job does not manage addresses */
    int r = rival || !pool_allocator_is_due(&job->allocator)
                ? 0
                : pool_allocator_update(&job->allocator, &inputs, on_assigned, job);
    address_tell(job, rival);
    if (r < 0)
        return r;
    address_conflicts_tell(job);
    r = rival ? 0 : claim(job);
    return r < 0 || rival ? r : address_count_pools(job);
}

/* Other Services may wait for an address that a Service has released. */
static void tell_freed(struct address_job *job)
{
    if (!job->freed)
        return;
    job->freed = false;
    sorted_each(struct behind *const, behind, &job->behind) {
        if ((*behind)->claimed)
            (void)job_writer_add(job->job.writers[ADDRESS_SERVICES], (*behind)->key);
    }
}

static void tell_refusals(struct address_job *job)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (!job->refusals.changed)
        return;
    refusals_faults(&job->refusals, &faults);
    (void)fault_book_replace(job->job.board->faults, "addresses", "writes", &faults,
                             clock_wall_ms());
}

/* Services are older than `seen`. They will catch up, or else the record is read again, which a
 * restore of etcd from a backup may have reset. */
static void wait_for_services(struct address_job *job, int64_t now_ms)
{
    enum { PATIENCE_MS = 200, DOUBT_MS = 10 * SECOND_MS };
    if (job->doubt_ms == 0)
        job->doubt_ms = now_ms + DOUBT_MS;
    if (now_ms >= job->doubt_ms) {
        reset(job);
        address_claims_begin(job->claims);
    } else {
        job->retry_ms = now_ms + PATIENCE_MS;
    }
}

static int work(struct job *base, const struct job_round *round)
{
    struct address_job *job = to_job(base);
    tell_refusals(job);
    address_contests_tell(job, round->now_ms);
    address_lingers_tell(job, round->now_ms);
    tell_freed(job);
    address_claims_work(job->claims, round->now_ms);
    tell_claims(job);
    if (!job->begun || !address_claims_are_known(job->claims))
        return 0;
    if (!is_recent(job)) {
        wait_for_services(job, round->now_ms);
        return 0;
    }
    job->retry_ms = INT64_MAX;
    job->doubt_ms = 0;
    job->allocator.all |= round->all;
    return decide(job);
}

/* Whether an address was removed from the status of a Service. */
static bool gives_up(const struct change *change)
{
    if (!change->before)
        return false;
    const struct service *before = to_service(change->before);
    for (uint32_t i = 0; i < before->address_count; i++) {
        const struct ip *ip = &before->addresses[i].ip;
        if (address_is_told(before, ip) &&
            (!change->after || !address_is_told(to_service(change->after), ip)))
            return true;
    }
    return false;
}

static int note(struct job *base, const struct change *change)
{
    struct address_job *job = to_job(base);
    const struct object *object = change->after ? change->after : change->before;
    if (!change->after)
        address_forget_refusal(job, object);
    int r = lingers_note(&job->lingers, change);
    if (r < 0 || !job->begun)
        return r;
    pool_allocator_note(&job->allocator, change);
    address_conflicts_note(job, change);
    if (object->kind != KIND_SERVICE)
        return 0;
    AUTOFREE char *key = address_key(object);
    if (!key)
        return -ENOMEM;
    if (!change->after) {
        job->chosen -= behind_drop(&job->behind, key);
        losses_settle(&job->losses, object, true);
    } else if (!assignment_is_for(job->job.board->config->addresses.load_balancer_class,
                                  to_service(object)) &&
               to_service(object)->assigned) {
        (void)job_writer_add(job->job.writers[ADDRESS_SERVICES], key);
    }
    job->freed |= gives_up(change);
    return 0;
}

/* The leader reports faults. */
static void tell_nothing(const struct address_job *job)
{
    static const char *const groups[] = { "", "claims", "contests", "lingers", "pools", "writes" };
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        (void)fault_book_replace(job->job.board->faults, "addresses", groups[i], NULL,
                                 clock_wall_ms());
}

static void lead(struct job *base, bool leading)
{
    struct address_job *job = to_job(base);
    reset(job);
    refusals_clear(&job->refusals);
    service_notes_clear(&job->contests);
    tell_nothing(job);
    if (leading)
        address_claims_begin(job->claims);
    else
        address_claims_end(job->claims);
}

static void publish(struct job *base, struct job_status *status)
{
    const struct address_job *job = to_job(base);
    size_t given = 0;
    for (size_t i = 0; i < job->allocator.assignments.rows.count; i++)
        given += assignment_at(&job->allocator.assignments, i)->ips.count > 0;
    const struct job_count counts[] = {
        { "pools", job->allocator.table.pools.count },
        { "services", given },
        { "pending", job->allocator.assignments.pending.count },
        { "resting", rests_count(&job->allocator.assignments.rests) },
        { "behind", job->behind.count },
    };
    memcpy(status->counts, counts, sizeof(counts));
    status->count = ARRAY_SIZE(counts);
}

static void lend(const struct job *base, struct controller_state *state)
{
    const struct address_job *job = (const struct address_job *)base;
    if (job->begun)
        state->allocator = &job->allocator;
}

static int64_t next_ms(const struct job *base, int64_t now_ms)
{
    const struct address_job *job = (const struct address_job *)base;
    int64_t next_ms = MIN(job->retry_ms, contests_next_ms(&job->contests));
    next_ms = MIN(next_ms, lingers_next_ms(&job->lingers, now_ms));
    return MIN(next_ms, address_claims_next_ms(job->claims));
}

/* ---- Opening ---- */

static bool is_wanted(const struct controller_config *config)
{
    return config->addresses.enabled;
}

static void close_job(struct job *base)
{
    struct address_job *job = to_job(base);
    pool_allocator_done(&job->allocator);
    behind_clear(&job->behind);
    sorted_done(&job->behind);
    service_notes_done(&job->contests);
    service_notes_done(&job->lingers);
    service_notes_done(&job->counts);
    service_notes_done(&job->losses);
    refusals_done(&job->refusals);
    faults_done(&job->unreadable);
    address_claims_free(job->claims);
}

static int open_job(struct job *base)
{
    struct address_job *job = to_job(base);
    behind_init(&job->behind);
    contests_init(&job->contests);
    lingers_init(&job->lingers);
    counts_init(&job->counts);
    losses_init(&job->losses);
    refusals_init(&job->refusals);
    job->retry_ms = INT64_MAX;
    pool_allocator_init(&job->allocator);
    const struct address_claims_options claims = { .board = job->job.board,
                                                   .read = on_read,
                                                   .written = on_written,
                                                   .lost = on_lost,
                                                   .gone = on_gone,
                                                   .context = job };
    return address_claims_new(&claims, &job->claims);
}

static const enum kind kinds[] = { KIND_SERVICE, KIND_IP_POOL,        KIND_NAMESPACE,
                                   KIND_NODE,    KIND_ENDPOINT_SLICE, KIND_COUNT };

const struct job_ops address_job_ops = {
    .name = "addresses",
    .kinds = kinds,
    .is_wanted = is_wanted,
    .size = sizeof(struct address_job),
    .writers = address_writers,
    .open = open_job,
    .close = close_job,
    .note = note,
    .work = work,
    .lead = lead,
    .publish = publish,
    .lend = lend,
    .next_ms = next_ms,
};
