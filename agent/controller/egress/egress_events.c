// SPDX-License-Identifier: Apache-2.0
/*
 * Events on Egresses: why their gateways can't be created, for owners who do not read the
 * controller's faults. Requested by egress_write.c, by the keys of objects that can't be written,
 * when an error is new; another leader requests the Event again, and it has the same name.
 *
 * An account and a binding belong to several Egresses, and to the cluster's operator: they have
 * faults, and no Events.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/kube/kube_event.h"
#include "controller/egress/egress_inside.h"

enum { TRIES_MAX = 6 };

static void write_body(const struct egress_job *job, const struct object *egress,
                       const struct refusal *refusal, const char *name, struct text *body)
{
    AUTOTEXT struct text note = { 0 };
    text_addf(&note, "%s: %.600s", refusal->place, refusal->message);
    if (refusal->remedy)
        text_addf(&note, ": %.200s", refusal->remedy);
    body->failed |= text_error(&note) < 0;
    const struct kube_event event = {
        .namespace = egress->namespace,
        .name = name,
        .subject = { kind_api_version(egress->kind), kind_name(egress->kind), egress->name,
                     egress->uid },
        .reason = "GatewaysRefused",
        .action = "Applying",
        .note = text_str(&note),
        .controller = "fingerpost.io/agent-controller",
        .instance = job->job.board->status->election.identity,
    };
    const int64_t now_wall_ms = clock_wall_ms();
    kube_event_write(&event, now_wall_ms, body);
}

int egress_event_make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    static char name[KUBE_EVENT_NAME_MAX + 1]; /* borrowed until the next call */
    const struct egress_job *job = context;
    char buffer[EGRESS_KEY_MAX];
    struct workload_key parts;
    if (!egress_split(key, buffer, &parts))
        return 0;
    const struct object *egress =
        store_get(job->job.board->store, KIND_EGRESS, parts.namespace, parts.name);
    AUTOFREE char *place = egress_place(&parts);
    const struct refusal *refusal = place ? refusals_find(&job->refusals, place) : NULL;
    if (!egress || !refusal)
        return place ? 0 : -ENOMEM;
    AUTOFREE char *cause = text_format("%s %s %s", egress->uid, place, refusal->message);
    if (!cause)
        return -ENOMEM;
    (void)kube_event_name(egress->name, cause, name);
    write_body(job, egress, refusal, name, body);
    *write = kube_event_create(egress->namespace, name);
    return 1;
}

/* Events are dropped rather than retried for long: the fault says the same. */
bool egress_event_told(void *context, const char *key, const struct kube_told *told)
{
    (void)context, (void)key;
    enum kube_outcome outcome = told->result.outcome;
    bool over = outcome == KUBE_DONE || outcome == KUBE_EXISTS || outcome == KUBE_MISSING;
    return !over && told->tries < TRIES_MAX;
}
