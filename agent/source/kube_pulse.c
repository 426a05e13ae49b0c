// SPDX-License-Identifier: Apache-2.0
/*
 * The pulse of the API; made and owned by kube.c.
 *
 * A watch of objects that rarely change is silent for a minute, and a watch at a server that hangs
 * is silent without end: the server's kernel still acknowledges packets. So after ten seconds
 * without data (the interval at which a kubelet renews its lease), this node's own Node is read
 * from the server's cache. Any answer will do, a refusal too. The pulse only detects: watches
 * continue as before, so that a server which recovers is in use at once.
 */
#include "source/kube_pulse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "loop/backoff.h"
#include "loop/timer.h"
#include "source/reflector.h"

struct kube_pulse {
    struct kube_pulse_options options;
    char *path;
    struct timer *timer; /* until the next check, or for its answer */
    struct kube_request *request;
    struct backoff backoff;
    bool lost;
    char why[KUBE_ERROR_LEN];
    const char *remedy;
};

static void lose(struct kube_pulse *pulse, const char *why, const char *remedy)
{
    bool known = pulse->lost && strcmp(pulse->why, why) == 0;
    pulse->lost = true;
    pulse->remedy = remedy;
    (void)snprintf(pulse->why, sizeof(pulse->why), "%s", why);
    timer_arm(pulse->timer, backoff_next(&pulse->backoff));
    if (!known)
        pulse->options.changed(pulse->options.context);
}

void kube_pulse_heard(struct kube_pulse *pulse)
{
    bool was_lost = pulse->lost;
    pulse->lost = false;
    backoff_reset(&pulse->backoff);
    if (!pulse->request)
        timer_arm(pulse->timer, pulse->options.timing->pulse_ms);
    if (was_lost)
        pulse->options.changed(pulse->options.context);
}

/* The head alone does not count as an answer. */
static void on_started(void *context, int status, int64_t retry_after_ms)
{
    (void)context, (void)status, (void)retry_after_ms;
}

static int on_data(void *context, const char *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    struct kube_pulse *pulse = context;
    pulse->request = NULL;
    if (error)
        lose(pulse, error, remedy);
    else
        kube_pulse_heard(pulse);
}

static void give_up(struct kube_pulse *pulse)
{
    char why[80], ago[CLOCK_STRLEN];
    kube_request_cancel(TAKE_PTR(pulse->request));
    (void)snprintf(why, sizeof(why), "it takes questions, and has answered none for %s",
                   clock_ago(pulse->options.timing->pulse_limit_ms, ago));
    lose(pulse, why, "see whether kube-apiserver there hangs, or its host is overloaded");
}

static void on_time(void *context)
{
    static const struct kube_handler handler = { on_started, on_data, on_ended };
    struct kube_pulse *pulse = context;
    char error[KUBE_ERROR_LEN];
    if (pulse->request) {
        give_up(pulse);
        return;
    }
    timer_arm(pulse->timer, pulse->options.timing->pulse_limit_ms);
    if (kube_client_get(pulse->options.client, pulse->path, &handler, pulse, &pulse->request,
                        error) < 0)
        lose(pulse, error, NULL);
}

const char *kube_pulse_lost(const struct kube_pulse *pulse, const char **ret_remedy)
{
    *ret_remedy = pulse->remedy;
    return pulse->lost ? pulse->why : NULL;
}

int kube_pulse_new(sd_event *event, const struct kube_pulse_options *options,
                   struct kube_pulse **ret_pulse)
{
    CLEANUP(kube_pulse_freep) struct kube_pulse *pulse = calloc(1, sizeof(*pulse));
    if (!pulse)
        return -ENOMEM;
    pulse->options = *options;
    pulse->backoff = (struct backoff){ .initial_ms = options->timing->pulse_limit_ms / 5,
                                       .max_ms = options->timing->pulse_ms };
    pulse->path = text_format("%s&resourceVersion=0", options->path);
    pulse->options.path = NULL; /* the caller frees its own */
    if (!pulse->path)
        return -ENOMEM;
    int r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, on_time, pulse, &pulse->timer);
    if (r < 0)
        return r;
    timer_arm(pulse->timer, options->timing->pulse_ms);
    *ret_pulse = TAKE_PTR(pulse);
    return 0;
}

void kube_pulse_free(struct kube_pulse *pulse)
{
    if (!pulse)
        return;
    kube_request_cancel(pulse->request);
    timer_free(pulse->timer);
    free(pulse->path);
    free(pulse);
}
