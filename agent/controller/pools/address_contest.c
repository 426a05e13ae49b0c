// SPDX-License-Identifier: Apache-2.0
/*
 * Services whose addresses another program overwrites repeatedly; called by address_write.c when a
 * status was written, and by address_job.c, which reports them.
 *
 * The same addresses are written to a Service twice within a minute only if another program has
 * removed them in between: a Service that was recreated under its name is another one, and writes
 * of this controller in between, as required by a Service's type or families, are no contest. Once
 * may be a mistake, and is repaired; three times is a program that will continue. It has stopped
 * when twice its usual pause has passed without it.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "controller/pools/address_inside.h"
#include "faults/controller.h"
#include "faults/raise.h"

enum { PUT_BACK = 3, PAUSE_MAX_MS = MINUTE_MS, CALM_MIN_MS = 5 * SECOND_MS, TOLD_MAX = 16 };

/* The writes of one Service's status with the same addresses. */
struct contest {
    struct service_note note; /* the first */
    char uid[OBJECT_UID_MAX + 1];
    ip_list ips;
    char version[32]; /* of the Service at the last of them: while it is the same, the status was
                         not overwritten, and nothing was stored */
    bool differs;     /* from the status when the current write was made */
    char writer[64];  /* the other writer of the status; "": not known */
    uint32_t times;
    int64_t first_ms, last_ms; /* monotonic */
    int64_t within_ms;         /* from the first until it was reported */
};

static struct contest *to_contest(struct service_note *note)
{
    return (struct contest *)note;
}

static void contest_done(struct service_note *note)
{
    vec_done(&to_contest(note)->ips);
}

void contests_init(struct service_notes *notes)
{
    service_notes_init(notes, sizeof(struct contest), contest_done);
}

static bool is_told(const struct contest *contest)
{
    return contest->times > PUT_BACK;
}

/* When it is over, if there is no further write. */
static int64_t end_ms(const struct contest *contest)
{
    int64_t pauses = contest->times > 1 ? contest->times - 1 : 1;
    int64_t calm_ms = 2 * (contest->last_ms - contest->first_ms) / pauses;
    calm_ms = MIN(MAX(calm_ms, CALM_MIN_MS), PAUSE_MAX_MS);
    return contest->last_ms + (is_told(contest) ? calm_ms : PAUSE_MAX_MS);
}

static bool same_ips(const ip_list *a, const ip_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = ip_equal(&a->items[i], &b->items[i]);
    return same;
}

static bool differs(const struct service *service, const ip_list *ips)
{
    vec_each(const struct ip, ip, ips) {
        if (!address_is_told(service, ip))
            return true;
    }
    return false;
}

void contests_see(struct service_notes *notes, const struct service *service, const ip_list *ips,
                  int64_t now_ms)
{
    struct contest *contest = to_contest(service_notes_find(notes, &service->object));
    if (contest && contest->times && !same_ips(&contest->ips, ips)) {
        service_notes_drop(notes, &contest->note);
        contest = NULL;
    }
    if (!ips->count)
        return;
    if (!contest)
        contest = to_contest(service_notes_get(notes, &service->object));
    if (!contest)
        return; /* without memory, the next one counts */
    contest->differs = differs(service, ips);
    if (contest->times == 0)
        contest->first_ms = contest->last_ms = now_ms; /* until the answer is here */
    (void)snprintf(contest->writer, sizeof(contest->writer), "%s", service->status_writer);
}

/* Begins to count anew if the write or the Service is another one, or the last one was long ago. */
static int begin(struct contest *contest, const char *uid, const ip_list *ips, int64_t now_ms)
{
    if (contest->times && strcmp(contest->uid, uid) == 0 && same_ips(&contest->ips, ips) &&
        now_ms < end_ms(contest))
        return 0;
    vec_clear(&contest->ips);
    (void)snprintf(contest->uid, sizeof(contest->uid), "%s", uid);
    contest->times = 0;
    contest->first_ms = now_ms;
    return vec_append(&contest->ips, ips);
}

bool contests_note(struct service_notes *notes, const struct service *service, const ip_list *ips,
                   int64_t now_ms)
{
    struct contest *contest = to_contest(service_notes_get(notes, &service->object));
    if (!contest || !contest->differs || begin(contest, service->object.uid, ips, now_ms) < 0)
        return false;
    contest->differs = false;
    if (contest->times && *contest->version &&
        strcmp(contest->version, service->object.version) == 0)
        return false;
    (void)snprintf(contest->version, sizeof(contest->version), "%s", service->object.version);
    contest->times++;
    contest->last_ms = now_ms;
    if (contest->times == PUT_BACK + 1)
        contest->within_ms = now_ms - contest->first_ms;
    return is_told(contest);
}

static void tell(const struct contest *contest, struct faults *faults)
{
    char ago[CLOCK_STRLEN];
    const struct service_note *note = &contest->note;
    AUTOFREE char *place = service_note_place(note);
    fault_raise(faults, place, service_status_contested,
                .writer = *contest->writer ? contest->writer : "unknown", .times = PUT_BACK,
                .within = clock_ago(contest->within_ms, ago), .namespace = note->namespace,
                .name = note->name);
}

static void collect(struct service_notes *notes, int64_t now_ms, struct faults *faults)
{
    for (size_t i = service_notes_count(notes); i-- > 0;) {
        struct contest *contest = to_contest(service_notes_at(notes, i));
        if (now_ms >= end_ms(contest)) {
            service_notes_drop(notes, &contest->note);
        } else if (is_told(contest) && faults->list.count < TOLD_MAX) {
            tell(contest, faults);
        }
    }
}

void address_contests_tell(struct address_job *job, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    collect(&job->contests, now_ms, &faults);
    (void)fault_book_replace(job->job.board->faults, "addresses", "contests", &faults,
                             clock_wall_ms());
}

int64_t contests_next_ms(const struct service_notes *notes)
{
    int64_t next_ms = INT64_MAX;
    for (size_t i = 0; i < service_notes_count(notes); i++) {
        const struct contest *contest = to_contest(service_notes_at(notes, i));
        if (is_told(contest))
            next_ms = MIN(next_ms, end_ms(contest));
    }
    return next_ms;
}
