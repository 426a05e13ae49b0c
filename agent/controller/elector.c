// SPDX-License-Identifier: Apache-2.0
/*
 * The requests of leader election; see elector.h. Made by controller.c.
 *
 * One request at a time: a get, a create, or a merge patch that names the version it is based on,
 * so that of two controllers that take a Lease one is refused. If an answer is lost, the next read
 * finds the outcome, as in client-go. The timer has the highest priority in the loop: when
 * leadership is over, nothing is written in the same iteration.
 */
#include "controller/elector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/kube/kube_write.h"
#include "faults/controller.h"
#include "faults/raise.h"
#include "loop/timer.h"
#include "plan/election.h"

struct elector {
    struct elector_options options;
    struct election election;
    char identity[LEASE_HOLDER_MAX];
    struct timer *timer;
    struct kube_attempt *attempt;    /* NULL: none is under way */
    enum election_step asked;        /* the purpose of the attempt */
    unsigned failures;               /* in a row */
    bool was_leading;                /* as last reported */
    unsigned releases;               /* that were in conflict */
    void (*released)(void *context); /* not NULL: the Lease is being released */
};

enum { RUN_DIGITS = 16, RELEASES_MAX = 3, RACES_MAX = 2, AGED_MS = 5 * MINUTE_MS };

static void go_on(struct elector *elector);
static void on_released(void *context, const struct kube_result *result);

static struct election_rules rules_of(const struct controller_config *config)
{
    return (struct election_rules){
        .lease_ms = config->election.lease_ms,
        .renew_ms = config->election.renew_ms,
        .retry_ms = config->election.retry_ms,
    };
}

static uint32_t any_number(void)
{
    uint32_t number;
    /* Early in the boot there may be no randomness yet: the middle will do. */
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
        return UINT32_MAX / 2;
    return number;
}

bool elector_leads(const struct elector *elector)
{
    return !elector->released && election_leads(&elector->election, clock_boot_ms());
}

/* ---- Reports ---- */

static void tell_fault(struct elector *elector, const char *why, const char *remedy)
{
    AUTOFAULTS struct faults faults = { 0 };
    char place[512];
    const struct election_status *status = elector->options.status;
    (void)snprintf(place, sizeof(place), "Lease %s/%s", status->namespace, status->name);
    if (why)
        fault_raise(&faults, place, election_failed, .reason = why, .remedy = remedy);
    (void)fault_book_replace(elector->options.faults, "election", "", &faults, clock_wall_ms());
}

static void tell_change(struct elector *elector)
{
    struct election_status *status = elector->options.status;
    const struct election *election = &elector->election;
    bool leading = elector_leads(elector);
    status->leading = leading;
    status->transitions = election->seen.transitions;
    status->acquired_wall_ms = election->seen.acquired_wall_ms;
    status->renewed_wall_ms = election->seen.renewed_wall_ms;
    (void)snprintf(status->holder, sizeof(status->holder), "%s", election->seen.holder);
    if (leading != elector->was_leading) {
        elector->was_leading = leading;
        status->gained += leading;
        status->lost += !leading;
        log_notice("%s: %s", elector->identity, leading ? "leads" : "leads no more");
    }
    elector->options.changed(elector->options.context);
}

/* "_" and the number of a run: the end of a name from make_identity(). */
static bool is_controller(const char *holder)
{
    const char *run = strrchr(holder, '_');
    return run && strlen(run + 1) == RUN_DIGITS &&
           strspn(run + 1, "0123456789abcdef") == RUN_DIGITS;
}

/* A holder that does not lead: another program, or a controller that is gone and whose Lease lasts
 * longer than this controller's would. Returns whether the holder is one of these. */
static bool tell_holder(struct elector *elector)
{
    const struct election *election = &elector->election;
    const struct controller_config *config = elector->options.config;
    const char *holder = election->seen.holder;
    const bool silent = clock_boot_ms() - election->changed_ms > 2 * config->election.lease_ms;
    if (!*holder || strcmp(holder, elector->identity) == 0 || (is_controller(holder) && !silent))
        return false;
    AUTOFREE char *message =
        is_controller(holder)
            ? text_format("its holder %s does not renew it, and has it for %" PRId64 " s: no "
                          "controller leads",
                          holder, (int64_t)election->seen.duration_s)
            : text_format("is held by %s, which is no agent-controller: no controller leads",
                          holder);
    AUTOFREE char *remedy =
        text_format("end who holds it, or name another Lease (election.name); if the holder is "
                    "gone: kubectl delete lease -n %s %s",
                    config->election.namespace, config->election.name);
    if (message && remedy)
        tell_fault(elector, message, remedy);
    return message && remedy;
}

static void note_success(struct elector *elector)
{
    elector->failures = 0;
    *elector->options.status->error = '\0';
    if (elector->election.seen.coordinated)
        tell_fault(elector, "others decide who gets it (spec.strategy, spec.preferredHolder)",
                   "name another Lease (election.name)");
    else if (!tell_holder(elector))
        tell_fault(elector, NULL, NULL);
}

/* A single failure is normal; so is a refusal by an API server that has just started and has not
 * loaded the roles. */
static void note_failure(struct elector *elector, enum kube_outcome outcome, const char *why,
                         const char *remedy)
{
    struct election_status *status = elector->options.status;
    elector->failures++;
    (void)snprintf(status->error, sizeof(status->error), "%s", why);
    if (elector->failures > (outcome == KUBE_REFUSED ? 1 : 2))
        tell_fault(elector, why, remedy);
}

/*
 * A race may be lost to another controller, which is then read as the holder. If every race is
 * lost, there is no such controller.
 */
static void note_lost_race(struct elector *elector, const char *why)
{
    if (elector->failures++ < RACES_MAX)
        return;
    AUTOFREE char *message = text_format(
        "every write of it is refused as a conflict, and nobody holds it: no controller leads: %s",
        why);
    if (!message)
        return;
    (void)snprintf(elector->options.status->error, sizeof(elector->options.status->error), "%s",
                   message);
    tell_fault(elector, message,
               "find out who answers or changes it meanwhile, as an admission webhook or a proxy "
               "may do: kubectl get lease -w --output-watch-events -o yaml, of this Lease");
}

/* ---- Answers ---- */

static void fail(struct elector *elector, enum kube_outcome outcome, const char *why,
                 const char *remedy)
{
    if (outcome == KUBE_CONFLICT || outcome == KUBE_EXISTS)
        note_lost_race(elector, why);
    else
        note_failure(elector, outcome, why, remedy);
    election_failed(&elector->election, any_number(), clock_boot_ms());
}

/* A controller that exits regularly releases the Lease, and one that was killed is replaced within
 * a minute. An older holder means that no controller ran since, or that etcd was restored from a
 * backup. */
static void note_first(const struct elector *elector, const struct lease_record *record)
{
    struct election_status *status = elector->options.status;
    int64_t renewed_ms = record->renewed_wall_ms;
    if (!status->seen && *record->holder && renewed_ms && clock_wall_ms() - renewed_ms > AGED_MS)
        status->aged_mono_ms = clock_mono_ms();
}

/* A stored write has a new version. An API or a proxy that makes a dry run of a write answers with
 * the old version, or none. */
static bool is_stored(const struct elector *elector, const char *version)
{
    return *version && strcmp(version, elector->election.version) != 0;
}

static void take_lease(struct elector *elector, const struct doc *lease)
{
    struct lease_record record;
    char version[LEASE_VERSION_MAX];
    const char *wrong = lease_read(lease, &record, version);
    int64_t now_ms = clock_boot_ms();
    if (wrong) {
        fail(elector, KUBE_REFUSED, wrong, "delete it: the controllers make another");
        return;
    }
    if (elector->asked == ELECTION_READ)
        election_saw(&elector->election, &record, version, any_number(), now_ms);
    else if (!is_stored(elector, version))
        return fail(elector, KUBE_REFUSED, kube_not_so, kube_not_so_remedy);
    else
        election_wrote(&elector->election, &record, version, now_ms);
    note_first(elector, &record);
    elector->options.status->seen = true;
    if (elector->election.step == ELECTION_WAIT) /* otherwise the attempt has a next step */
        note_success(elector);
}

static void on_told(void *context, const struct kube_result *result)
{
    struct elector *elector = context;
    if (result->outcome == KUBE_DONE) {
        take_lease(elector, result->object);
    } else if (elector->asked == ELECTION_READ && result->outcome == KUBE_MISSING) {
        election_absent(&elector->election);
        elector->options.status->seen = true;
    } else {
        fail(elector, result->outcome, result->why, result->remedy);
    }
    kube_attempt_free(TAKE_PTR(elector->attempt));
    go_on(elector);
}

/* ---- Requests ---- */

static int send(struct elector *elector, enum kube_verb verb, const struct lease_record *record,
                kube_attempt_told told, char error[static KUBE_ERROR_LEN])
{
    AUTOTEXT struct text body = { 0 };
    CLEANUP(kube_attempt_freep) struct kube_attempt *attempt = NULL;
    const struct controller_config *config = elector->options.config;
    const char *version = verb == KUBE_MERGE ? elector->election.version : NULL;
    const char *namespace = config->election.namespace, *name = config->election.name;
    if (record)
        lease_write(record, namespace, name, version, NULL, &body);
    const struct kube_write write = {
        .verb = verb,
        .target = { .group = "coordination.k8s.io",
                    .version = "v1",
                    .plural = "leases",
                    .namespace = namespace,
                    .name = name },
        .body = record ? text_str(&body) : NULL,
    };
    (void)snprintf(error, KUBE_ERROR_LEN, "%s", "no memory");
    int r = text_error(&body);
    if (r < 0)
        return r;
    r = kube_attempt_new(elector->options.client, &write, config->election.renew_ms / 2, told,
                         elector, &attempt);
    if (r < 0)
        return r;
    r = kube_attempt_send(attempt, error);
    if (r < 0)
        return r;
    elector->attempt = TAKE_PTR(attempt);
    return 0;
}

static int ask(struct elector *elector, enum election_step step, char error[static KUBE_ERROR_LEN])
{
    elector->asked = step;
    if (step == ELECTION_READ)
        return send(elector, KUBE_GET, NULL, on_told, error);
    const struct lease_record desired = election_desired(&elector->election, clock_wall_ms());
    return send(elector, step == ELECTION_CREATE ? KUBE_CREATE : KUBE_MERGE, &desired, on_told,
                error);
}

/* ---- Exit ---- */

static void end_release(struct elector *elector)
{
    kube_attempt_free(TAKE_PTR(elector->attempt));
    elector->released(elector->options.context);
}

/* Reads the Lease, and releases it if it is still held. */
static void on_reread(void *context, const struct kube_result *result)
{
    struct elector *elector = context;
    struct lease_record now, record;
    char version[LEASE_VERSION_MAX], error[KUBE_ERROR_LEN];
    bool held = result->outcome == KUBE_DONE && !lease_read(result->object, &now, version) &&
                election_release_again(&elector->election, &now, version, clock_wall_ms(), &record);
    kube_attempt_free(TAKE_PTR(elector->attempt));
    if (!held || send(elector, KUBE_MERGE, &record, on_released, error) < 0)
        end_release(elector);
}

/*
 * A conflict is with a renewal of its own whose answer was lost, or with another controller that
 * took it.
 */
static void on_released(void *context, const struct kube_result *result)
{
    struct elector *elector = context;
    char error[KUBE_ERROR_LEN];
    bool again = result->outcome == KUBE_CONFLICT && elector->releases++ < RELEASES_MAX;
    kube_attempt_free(TAKE_PTR(elector->attempt));
    if (!again || send(elector, KUBE_GET, NULL, on_reread, error) < 0)
        end_release(elector);
}

static void give_back(struct elector *elector)
{
    struct lease_record record;
    char error[KUBE_ERROR_LEN];
    if (!election_release(&elector->election, clock_wall_ms(), &record) ||
        send(elector, KUBE_MERGE, &record, on_released, error) < 0)
        end_release(elector);
}

void elector_release(struct elector *elector, void (*released)(void *context))
{
    elector->released = released;
    tell_change(elector);
    timer_disarm(elector->timer);
    /* A pending answer has the version to release; after a timeout the holder is unknown. */
    if (!elector->attempt)
        give_back(elector);
}

/* ---- Steps ---- */

/* Sends the next request, or waits for a time or an answer. */
static void go_on(struct elector *elector)
{
    char error[KUBE_ERROR_LEN];
    enum election_step step;
    if (elector->released) {
        give_back(elector);
        return;
    }
    while ((step = election_next(&elector->election, clock_boot_ms())) != ELECTION_WAIT) {
        if (ask(elector, step, error) == 0)
            break;
        fail(elector, KUBE_LATER, error, NULL);
    }
    /* The deadline cancels the current request. */
    if (elector->attempt && !elector->election.asked)
        kube_attempt_free(TAKE_PTR(elector->attempt));
    tell_change(elector);
    int64_t next_ms = election_next_ms(&elector->election);
    if (next_ms == INT64_MAX)
        timer_disarm(elector->timer);
    else
        timer_arm(elector->timer, next_ms - clock_boot_ms());
}

static void on_time(void *context)
{
    go_on(context);
}

/* Two runs never have the same name, even on one machine with one configuration. */
static int make_identity(struct elector *elector)
{
    uint64_t run;
    if (getrandom(&run, sizeof(run), 0) != sizeof(run))
        return -errno;
    (void)snprintf(elector->identity, sizeof(elector->identity), "%s_%016" PRIx64,
                   elector->options.config->election.identity, run);
    return 0;
}

int elector_new(const struct elector_options *options, struct elector **ret_elector)
{
    CLEANUP(elector_freep) struct elector *elector = calloc(1, sizeof(*elector));
    if (!elector)
        return -ENOMEM;
    elector->options = *options;
    int r = make_identity(elector);
    if (r < 0)
        return r;
    r = timer_new(options->event, SD_EVENT_PRIORITY_IMPORTANT, on_time, elector, &elector->timer);
    if (r < 0)
        return r;
    const struct election_rules rules = rules_of(options->config);
    election_begin(&elector->election, &rules, elector->identity, clock_boot_ms());
    *options->status = (struct election_status){
        .namespace = options->config->election.namespace,
        .name = options->config->election.name,
        .identity = elector->identity,
    };
    timer_arm(elector->timer, 0);
    *ret_elector = TAKE_PTR(elector);
    return 0;
}

void elector_free(struct elector *elector)
{
    if (!elector)
        return;
    kube_attempt_free(elector->attempt);
    timer_free(elector->timer);
    free(elector);
}
