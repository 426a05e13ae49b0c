// SPDX-License-Identifier: Apache-2.0
/*
 * The services of the Consul agent on this node; see consul_keeper.h.
 *
 * A turn is: plan, compare with the last state of the Consul agent, write the difference, read
 * again. While nothing differs there is no request, except a read every consul.resync: the agent's
 * API has no query that waits for foreign changes. A plan is made at most once a second, followed
 * by a pause of twenty times its duration.
 *
 * Each of our checks has a TTL, so that a node whose agent is gone for good becomes unhealthy. All
 * checks are updated at half the TTL, and when the token has changed. After a failure everything is
 * read again, with delays that grow up to consul.resync, until that succeeds. The same is done
 * after writes, until a read finds no difference or the plan changes: two programs that overwrite
 * each other do so ever less often, and frequent changes of the plan are written at once. Nothing
 * is planned before the wanted state is known, nor removed before the source has synced. Requests
 * are counted by DogStatsD as kube-service-exporter does, where that is configured.
 */
#include "report/consul_keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/consul/consul_agent.h"
#include "client/consul/statsd.h"
#include "faults/export.h"
#include "faults/raise.h"
#include "loop/backoff.h"
#include "loop/timer.h"
#include "report/consul_body.h"
#include "report/consul_failure.h"
#include "report/consul_there.h"

enum {
    PRIORITY = 50, /* after passes */
    SPACE_MS = 1000,
    REST = 20,          /* pause after a plan, as a multiple of its duration */
    READ_MS = 3 * 1000, /* the Consul agent answers reads from memory */
    ANSWER_MS = 30 * 1000,
    WRITES = 4, /* under way at once */
    ERROR_BYTES = 4096,
};
#define READ_BYTES ((size_t)64 << 20)

enum phase { RESTING, READING, WRITING };

struct writing {
    struct consul_keeper *keeper; /* NULL: idle */
    struct consul_request *request;
    const struct agent_service_op *op; /* of the difference, which is kept until all are answered */
    int64_t sent_ms;
};

struct consul_keeper {
    struct consul_keeper_options options;
    struct consul_client *client;
    struct statsd *statsd;
    struct timer *timer;
    struct backoff backoff;
    enum phase phase;

    struct agent_services wanted;
    bool dirty; /* the plan may have changed */
    int64_t plan_due_ms;

    struct consul_request *read;
    struct consul_there there;
    bool known;
    bool unread;                 /* the last read failed */
    int64_t asked_ms;            /* when the current read was sent */
    int64_t read_ms, renewed_ms; /* 0: never */
    uint64_t renewed_by;         /* the mark of the token: another token may lack the right */

    struct agent_services_diff diff;
    size_t next; /* op */
    size_t under_way;
    struct writing writings[WRITES];
    struct consul_failure failure;
};

static void take_turn(struct consul_keeper *keeper);

static struct consul_status *status_of(const struct consul_keeper *keeper)
{
    return &keeper->options.status->consul;
}

static void publish(struct consul_keeper *keeper)
{
    struct consul_status *status = status_of(keeper);
    status->known = keeper->known && keeper->phase == RESTING;
    status->wanted = (uint32_t)keeper->wanted.list.count;
    status->refused = (uint32_t)keeper->wanted.refused.count;
    status->healthy = 0;
    vec_each(const struct agent_service, service, &keeper->wanted.list)
        status->healthy += service->healthy;
    status->registered = (uint32_t)keeper->diff.ours;
    status->kept = (uint32_t)keeper->diff.kept;
    status->foreign = (uint32_t)keeper->diff.foreign;
    status->pending = (uint32_t)(keeper->phase == WRITING
                                     ? keeper->diff.ops.count - keeper->next + keeper->under_way
                                     : 0);
    keeper->options.changed(keeper->options.context);
}

/* NULL: no error. */
static void tell_error(struct consul_keeper *keeper, const char *error, const char *remedy)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct consul_status *status = status_of(keeper);
    (void)snprintf(status->error, sizeof(status->error), "%.*s", (int)sizeof(status->error) - 1,
                   error ? error : "");
    if (error)
        fault_raise(&faults, status->address, consul_agent_failed, .reason = error,
                    .remedy = remedy);
    (void)fault_book_replace(keeper->options.status->faults, "consul", "agent", &faults,
                             clock_wall_ms());
}

/* Grows each time, but not beyond the interval of regular reads. */
static int64_t delay_of(struct consul_keeper *keeper)
{
    return MIN(backoff_next(&keeper->backoff), keeper->options.config->consul.poll_ms);
}

static void fail(struct consul_keeper *keeper, const char *error, const char *remedy,
                 int64_t at_least_ms)
{
    status_of(keeper)->failures++;
    keeper->phase = RESTING;
    keeper->known = false;
    keeper->unread = true;
    tell_error(keeper, error, remedy);
    timer_arm(keeper->timer, MAX(delay_of(keeper), at_least_ms));
    publish(keeper);
}

static void tell_request(struct consul_keeper *keeper, const char *method, const char *service,
                         int64_t sent_ms, bool done)
{
    const struct statsd_tag *tags = STATSD_TAGS({ "method", method }, { "service", service });
    statsd_add(keeper->statsd, "consul.service.time", STATSD_TIME,
               (uint64_t)(clock_mono_ms() - sent_ms), tags);
    statsd_add(keeper->statsd, done ? "consul.service.success" : "consul.service.fail",
               STATSD_COUNT, 1, tags);
    statsd_flush(keeper->statsd);
}

/* ---- Reads ---- */

/* Whether an answer can be used; if not, the error was reported. */
static bool is_good(struct consul_keeper *keeper, const struct consul_answer *answer)
{
    keeper->read = NULL;
    tell_request(keeper, "get", NULL, keeper->asked_ms, answer->error == NULL);
    if (answer->error)
        fail(keeper, answer->error, answer->remedy, answer->retry_after_ms);
    else if (answer->filtered)
        fail(keeper, "the token may not read all services of Consul's agent",
             "give the token of consul.tokenFile the policy that docs/export.md shows", 0);
    else if (answer->status != 200)
        fail(keeper, "an answer that Consul's agent does not give",
             "give consul.address the address and port of its agent's HTTP API (8500)", 0);
    else
        return true;
    return false;
}

static void on_checks(void *context, const struct consul_answer *answer)
{
    struct consul_keeper *keeper = context;
    struct consul_answer all = *answer;
    all.filtered = false; /* a check of the node's: see consul_there_hide() */
    if (!is_good(keeper, &all))
        return;
    if (answer->filtered)
        consul_there_hide(&keeper->there);
    int r = consul_there_add_checks(&keeper->there, answer->body, answer->size);
    if (r < 0) {
        fail(keeper, r == -ENOMEM ? "no memory" : "the answer is no list of checks", NULL, 0);
        return;
    }
    if (keeper->unread) {
        keeper->unread = false;
        backoff_reset(&keeper->backoff);
        tell_error(keeper, NULL, NULL);
    }
    keeper->known = true;
    keeper->phase = RESTING;
    keeper->read_ms = clock_mono_ms();
    status_of(keeper)->read_wall_ms = clock_wall_ms();
    take_turn(keeper);
}

static int ask(struct consul_keeper *keeper, const char *path, const struct consul_handler *handler)
{
    const struct consul_call call = {
        .path = path,
        .limit_ms = READ_MS,
        .answer_bytes = READ_BYTES,
    };
    keeper->asked_ms = clock_mono_ms();
    return consul_send(keeper->client, &call, handler, keeper, &keeper->read);
}

static const struct consul_handler checks_handler = { .done = on_checks };

static void on_services(void *context, const struct consul_answer *answer)
{
    struct consul_keeper *keeper = context;
    if (!is_good(keeper, answer))
        return;
    int r = consul_there_read(&keeper->there, keeper->options.config->exports.cluster, answer->body,
                              answer->size);
    r = r < 0 ? r : ask(keeper, CONSUL_AGENT_CHECKS, &checks_handler);
    if (r < 0)
        fail(keeper, r == -EBADMSG ? "the answer is no list of services" : strerror(-r), NULL, 0);
}

static const struct consul_handler services_handler = { .done = on_services };

static void begin_read(struct consul_keeper *keeper)
{
    keeper->phase = READING;
    keeper->known = false;
    agent_services_diff_done(&keeper->diff);
    char why[CONSUL_ERROR_LEN];
    int r = ask(keeper, CONSUL_AGENT_SERVICES, &services_handler);
    if (r < 0) {
        const char *remedy = consul_send_failure(keeper->client, r, why);
        fail(keeper, why, remedy, 0);
    }
}

/* ---- Writes ---- */

static void pump(struct consul_keeper *keeper);

static void count(struct consul_status *status, enum agent_service_act act)
{
    uint64_t *const counters[] = {
        [AGENT_SERVICE_REGISTER] = &status->registrations,
        [AGENT_SERVICE_UPDATE] = &status->updates,
        [AGENT_SERVICE_REMOVE] = &status->removals,
    };
    ++*counters[act];
}

/* If a service or a check is gone already, nothing is to be done: the next read shows it. */
static void on_written(void *context, const struct consul_answer *answer)
{
    struct writing *writing = context;
    struct consul_keeper *keeper = writing->keeper;
    const struct agent_service_op *op = writing->op;
    writing->keeper = NULL;
    keeper->under_way--;
    tell_request(keeper, op->act == AGENT_SERVICE_REMOVE ? "delete" : "put", op->id,
                 writing->sent_ms, answer->error == NULL);
    if (!answer->error) {
        count(status_of(keeper), op->act);
    } else {
        status_of(keeper)->failures++;
        consul_failure_note(&keeper->failure, op, answer->error, answer->remedy);
    }
    pump(keeper);
}

static const struct consul_handler written_handler = { .done = on_written };

static int send_op(struct consul_keeper *keeper, const struct agent_service_op *op,
                   struct writing *writing)
{
    AUTOTEXT struct text path = { 0 }, body = { 0 };
    if (op->act == AGENT_SERVICE_REGISTER) {
        text_add(&path, CONSUL_AGENT_REGISTER);
        consul_body(keeper->options.config, op->wanted, &body);
    } else if (op->act == AGENT_SERVICE_UPDATE) {
        consul_agent_update_path(op->id, &path);
        consul_agent_update(op->wanted->healthy, op->wanted->why, &body);
    } else {
        consul_agent_remove_path(op->id, &path);
    }
    if (text_error(&path) < 0 || text_error(&body) < 0)
        return -ENOMEM;
    const struct consul_call call = {
        .method = "PUT",
        .path = text_str(&path),
        .body = text_str(&body),
        .limit_ms = ANSWER_MS,
        .answer_bytes = ERROR_BYTES,
    };
    *writing = (struct writing){ .keeper = keeper, .op = op, .sent_ms = clock_mono_ms() };
    int r = consul_send(keeper->client, &call, &written_handler, writing, &writing->request);
    if (r < 0)
        writing->keeper = NULL;
    else
        keeper->under_way++;
    return r;
}

/* All ops are answered, or will not be sent. */
static void end_write(struct consul_keeper *keeper)
{
    const struct consul_failure *failure = &keeper->failure;
    tell_error(keeper, failure->op ? failure->why : NULL, failure->remedy);
    if (failure->op)
        keeper->renewed_ms = 0; /* what was refused is due again: a read does not fix it */
    keeper->phase = RESTING;
    keeper->known = false;
    timer_arm(keeper->timer, delay_of(keeper));
    publish(keeper);
}

static void pump(struct consul_keeper *keeper)
{
    for (size_t i = 0; i < WRITES && keeper->next < keeper->diff.ops.count && !keeper->failure.op;
         i++) {
        if (keeper->writings[i].keeper)
            continue;
        const struct agent_service_op *op = &keeper->diff.ops.items[keeper->next];
        int r = send_op(keeper, op, &keeper->writings[i]);
        keeper->next += r == 0;
        if (r < 0) {
            char why[CONSUL_ERROR_LEN];
            const char *remedy = consul_send_failure(keeper->client, r, why);
            consul_failure_note(&keeper->failure, op, why, remedy);
        }
    }
    if (keeper->under_way == 0)
        end_write(keeper);
}

/* ---- Turns ---- */

static bool is_to_be_renewed(const struct consul_keeper *keeper, int64_t now_ms)
{
    return !keeper->renewed_ms || keeper->renewed_by != consul_token_mark(keeper->client) ||
           now_ms - keeper->renewed_ms >= keeper->options.config->consul.ttl_ms / 2;
}

static int make_plan(struct consul_keeper *keeper)
{
    int64_t began_ms = clock_mono_ms();
    struct agent_services services;
    int r = keeper->options.plan(keeper->options.context, &services);
    int64_t now_ms = clock_mono_ms();
    keeper->plan_due_ms = now_ms + MAX((int64_t)SPACE_MS, REST * (now_ms - began_ms));
    if (r < 0)
        return r;
    if (!keeper->failure.op && !agent_services_same(&keeper->wanted, &services))
        backoff_reset(&keeper->backoff);
    agent_services_diff_done(&keeper->diff); /* it refers to what is freed now */
    agent_services_done(&keeper->wanted);
    keeper->wanted = services;
    keeper->dirty = false;
    return 0;
}

static int compare(struct consul_keeper *keeper, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct agent_services_rule rule = {
        .cluster = keeper->options.config->exports.cluster,
        .may_remove = keeper->options.status->source.synced,
        .renew = is_to_be_renewed(keeper, now_ms),
    };
    struct agent_services_diff diff;
    int r = agent_services_compare(&keeper->wanted, &keeper->there.list, &rule, &diff, &faults);
    if (r < 0)
        return r;
    consul_there_tell(&keeper->there, status_of(keeper)->address, &faults);
    agent_services_diff_done(&keeper->diff);
    keeper->diff = diff;
    keeper->renewed_by = consul_token_mark(keeper->client);
    if (rule.renew)
        keeper->renewed_ms = now_ms;
    (void)fault_book_replace(keeper->options.status->faults, "consul", "ids", &faults,
                             clock_wall_ms());
    return 0;
}

/* Waits until a plan, a read or a renewal is due. */
static void rest(struct consul_keeper *keeper)
{
    const struct config *config = keeper->options.config;
    int64_t now_ms = clock_mono_ms();
    int64_t next = MIN(keeper->read_ms + config->consul.poll_ms,
                       keeper->renewed_ms + config->consul.ttl_ms / 2);
    if (keeper->dirty)
        next = MIN(next, keeper->plan_due_ms);
    timer_arm(keeper->timer, MAX(next - now_ms, INT64_C(0)));
    publish(keeper);
}

static void take_turn(struct consul_keeper *keeper)
{
    int64_t now_ms = clock_mono_ms();
    int r = keeper->dirty && now_ms >= keeper->plan_due_ms ? make_plan(keeper) : 0;
    r = r < 0 ? r : compare(keeper, now_ms);
    if (r < 0) {
        fail(keeper, strerror(-r), NULL, 0);
        return;
    }
    if (keeper->diff.ops.count == 0) {
        backoff_reset(&keeper->backoff);
        tell_error(keeper, NULL, NULL);
        rest(keeper);
        return;
    }
    keeper->phase = WRITING;
    keeper->next = 0;
    keeper->failure.op = NULL;
    pump(keeper);
}

static void on_time(void *context)
{
    struct consul_keeper *keeper = context;
    if (keeper->phase != RESTING || !status_is_known(keeper->options.status))
        return;
    bool old = clock_mono_ms() - keeper->read_ms >= keeper->options.config->consul.poll_ms;
    if (!keeper->known || old)
        begin_read(keeper);
    else
        take_turn(keeper);
}

void consul_keeper_invalidate(struct consul_keeper *keeper)
{
    keeper->dirty = true;
    bool waits = keeper->backoff.delay_ms > 0; /* after a failure, or writes */
    if (keeper->phase == RESTING && !waits)
        timer_arm(keeper->timer, MAX(keeper->plan_due_ms - clock_mono_ms(), INT64_C(0)));
}

static int open_statsd(struct consul_keeper *keeper)
{
    const struct export_config *exports = &keeper->options.config->exports;
    const struct statsd_options options = {
        .address = exports->statsd.address,
        .tags = exports->statsd.tags.items,
        .tag_count = exports->statsd.tags.count,
    };
    AUTOFAULTS struct faults faults = { 0 };
    int r = statsd_new(&options, &keeper->statsd, &faults);
    if (r < 0)
        return r;
    (void)fault_book_replace(keeper->options.status->faults, "consul", "dogstatsd", &faults,
                             clock_wall_ms());
    return 0;
}

int consul_keeper_new(const struct consul_keeper_options *options,
                      struct consul_keeper **ret_keeper)
{
    CLEANUP(consul_keeper_freep) struct consul_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return -ENOMEM;
    keeper->options = *options;
    keeper->dirty = true;
    keeper->backoff = (struct backoff){ .initial_ms = SECOND_MS / 2, .max_ms = MINUTE_MS / 2 };
    *status_of(keeper) =
        (struct consul_status){ .enabled = true, .address = options->where.address };
    int r = consul_client_new(options->event, &options->where, &keeper->client);
    if (r < 0)
        return r;
    r = open_statsd(keeper);
    if (r < 0)
        return r;
    r = timer_new(options->event, PRIORITY, on_time, keeper, &keeper->timer);
    if (r < 0)
        return r;
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

void consul_keeper_free(struct consul_keeper *keeper)
{
    if (!keeper)
        return;
    consul_cancel(keeper->read);
    for (size_t i = 0; i < WRITES; i++)
        consul_cancel(keeper->writings[i].keeper ? keeper->writings[i].request : NULL);
    consul_client_free(keeper->client);
    statsd_free(keeper->statsd);
    timer_free(keeper->timer);
    agent_services_diff_done(&keeper->diff);
    agent_services_done(&keeper->wanted);
    consul_there_done(&keeper->there);
    *status_of(keeper) = (struct consul_status){ 0 };
    (void)fault_book_replace(keeper->options.status->faults, "consul", "agent", NULL, 0);
    (void)fault_book_replace(keeper->options.status->faults, "consul", "ids", NULL, 0);
    (void)fault_book_replace(keeper->options.status->faults, "consul", "dogstatsd", NULL, 0);
    free(keeper);
}
