// SPDX-License-Identifier: Apache-2.0
/*
 * Services whose status has an address that they may not have: another Service owns it, for
 * example, and it was written by hand. It is removed from the status, and with it every trace of
 * the reason; so an Event and a log line name the owner. Called by address_job.c when it was
 * decided, and by the writer of these Events.
 *
 * What follows from the Service's own spec (another request, other families) is not reported.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "controller/pools/address_body.h"
#include "controller/pools/address_inside.h"

enum { LOSS_TRIES = 6, LOSS_TEXT_MAX = 900 };

struct loss {
    struct service_note note; /* the first */
    char *text;               /* "203.0.113.5: the address is another's: Service shop/web" */
    bool told;                /* by an Event, or that was given up */
    bool settled;             /* the status matches the decision */
};

static struct loss *to_loss(struct service_note *note)
{
    return (struct loss *)note;
}

static void loss_done(struct service_note *note)
{
    free(to_loss(note)->text);
}

void losses_init(struct service_notes *notes)
{
    service_notes_init(notes, sizeof(struct loss), loss_done);
}

static bool is_wanted(enum lack_reason reason)
{
    return reason != LACK_NOT_WISHED && reason != LACK_OTHER_FAMILY && reason != LACK_OTHER_POOL &&
           reason != LACK_UNREADABLE;
}

static void loss_text(const struct assignment *row, const struct service *service, struct text *out)
{
    char ip[IP_STRLEN];
    vec_each(const struct lack, lost, &row->lost) {
        if (is_wanted(lost->reason) && address_is_told(service, &lost->ip))
            text_addf(out, "%s%s: %s%s%s", out->length ? "; " : "", ip_str(&lost->ip, ip),
                      lack_reason_text(lost->reason), lost->of ? ": " : "",
                      lost->of ? lost->of : "");
    }
}

void address_loss_note(struct address_job *job, const struct assignment *row,
                       const struct service *service)
{
    AUTOTEXT struct text text = { 0 };
    const struct object *object = &service->object;
    loss_text(row, service, &text);
    if (!text.length || text_error(&text) < 0)
        return;
    struct loss *loss = to_loss(service_notes_get(&job->losses, object));
    AUTOFREE char *key = address_key(object);
    if (!loss || !key)
        return; /* without memory, only the log line and the Event are lost */
    loss->settled = false;
    if (loss->text && strcmp(loss->text, text_str(&text)) == 0)
        return;
    free(loss->text);
    loss->text = strndup(text_str(&text), LOSS_TEXT_MAX);
    loss->told = false;
    log_notice("Service %s does not keep what its status says: %s", key, text_str(&text));
    if (job_writer_add(job->job.writers[ADDRESS_LOSSES], key) < 0)
        loss->told = true;
}

void losses_settle(struct service_notes *notes, const struct object *object, bool gone)
{
    struct loss *loss = to_loss(service_notes_find(notes, object));
    if (!loss)
        return;
    loss->settled = true;
    if (loss->told || gone)
        service_notes_drop(notes, &loss->note);
}

int address_loss_make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    static char name[KUBE_EVENT_NAME_MAX + 1]; /* borrowed until the next call */
    struct address_job *job = context;
    const struct object *object = address_object(job, KIND_SERVICE, key);
    const struct loss *loss = object ? to_loss(service_notes_find(&job->losses, object)) : NULL;
    if (!loss || !loss->text || loss->told)
        return 0;
    address_loss_event_write(to_service(object), loss->text,
                             job->job.board->status->election.identity, clock_wall_ms(), name,
                             body);
    *write = kube_event_create(object->namespace, name);
    return text_error(body) < 0 ? -ENOMEM : 1;
}

bool address_loss_told(void *context, const char *key, const struct kube_told *told)
{
    struct address_job *job = context;
    const struct object *object = address_object(job, KIND_SERVICE, key);
    struct loss *loss = object ? to_loss(service_notes_find(&job->losses, object)) : NULL;
    if (told->result.outcome != KUBE_DONE && told->result.outcome != KUBE_EXISTS &&
        told->result.outcome != KUBE_MISSING && told->tries < LOSS_TRIES)
        return true;
    if (loss)
        loss->told = true;
    if (loss && loss->settled)
        service_notes_drop(&job->losses, &loss->note);
    return false;
}
