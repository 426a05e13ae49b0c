// SPDX-License-Identifier: Apache-2.0
/*
 * Waiting until it is true, not until it is started.
 *
 * The first answer tells how much each source has observed. The next question is one that the
 * agent answers when that much is applied (each source has a generation that only rises, see
 * status/status.h), it runs, and a complete pass has been done. What is observed later is not
 * waited for: under a steady stream of changes the wait ends all the same. An agent that is not
 * there yet is waited for as well; one that restarts meanwhile begins again at generation 0, and so
 * does the wait.
 *
 * An older agent answers at once, and is asked again. Pauses between questions that fail grow.
 */
#include "agentctl/wait.h"
#include "agentctl/field.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"

enum { POLL_MS = 20, LONGEST_REST_MS = 320 };

static const struct doc *source_named(const struct doc *status, const char *name)
{
    doc_each(source, doc_get(status, "sources")) {
        if (field_is(source, "name", name))
            return source;
    }
    return NULL;
}

static bool restarted(const struct doc *asked, const struct doc *now)
{
    if (!field_is(now, "startedAt", field(asked, "startedAt")))
        return true;
    doc_each(before, doc_get(asked, "sources")) {
        const struct doc *source = source_named(now, field(before, "name"));
        if (field_int(source, "observedGeneration") < field_int(before, "observedGeneration"))
            return true;
    }
    return false;
}

/* True if all is done; else `why` becomes what is still missing. */
static bool settled(const struct doc *asked, const struct doc *now, struct text *why)
{
    text_truncate(why, 0);
    doc_each(before, doc_get(asked, "sources")) {
        const char *name = field(before, "name");
        int64_t wanted = field_int(before, "observedGeneration");
        int64_t applied = field_int(source_named(now, name), "appliedGeneration");
        if (applied < wanted) {
            text_addf(why, "%s: change %" PRId64 " of %" PRId64 " is applied", name, applied,
                      wanted);
            return false;
        }
    }
    if (!field_is(now, "phase", "running"))
        text_addf(why, "the agent to run, it is %s", field(now, "phase"));
    else if (!field_true(doc_get(now, "routes"), "complete"))
        text_add(why, "the first complete pass");
    return why->length == 0;
}

static void pause_ms(int64_t ms)
{
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    (void)nanosleep(&time, NULL);
}

static bool is_hopeless(int error)
{
    return error == -EACCES || error == -ENOMEM;
}

struct wait {
    const struct ctl *ctl;
    int64_t deadline_ms;
    struct answer asked; /* the one that says what is waited for */
    struct text why;     /* what is missing */
    bool later;          /* the next question may be answered later */
};

static void wait_done(struct wait *wait)
{
    answer_done(&wait->asked);
    text_done(&wait->why);
}

/* Who does not want to wait asks as anybody does. */
static int64_t limit_of(const struct wait *wait)
{
    const int64_t left_ms = MAX(wait->deadline_ms - clock_mono_ms(), POLL_MS);

    if (wait->ctl->wait_ms == 0)
        return wait->ctl->timeout_ms;
    return wait->later ? left_ms : MIN(left_ms, wait->ctl->timeout_ms);
}

static int ask(const struct wait *wait, struct answer *ret)
{
    const struct doc *sources = doc_get(wait->asked.root, "sources");
    const struct doc *source = sources ? sources->first : NULL;
    AUTOFREE char *path =
        wait->later && source
            ? text_format("/v1/status?applied=%" PRId64, field_int(source, "observedGeneration"))
            : strdup("/v1/status");

    return path ? answer_try(wait->ctl, path, limit_of(wait), NULL, ret) : -ENOMEM;
}

/* That an answer which may come later did not come says nothing new. */
static int note_failure(struct wait *wait, int error)
{
    const bool silent = wait->later && (error == -ETIMEDOUT || error == -EREMOTEIO);

    wait->later = false;
    if (silent)
        return 0;
    text_truncate(&wait->why, 0);
    text_addf(&wait->why, "the agent at %s to answer: %s", wait->ctl->socket, answer_why(error));
    return error;
}

/* One question. Returns 1 and the document if all is done, 0 if not yet, an error as is. */
static int ask_once(struct wait *wait, struct answer *ret)
{
    AUTOANSWER struct answer now = { 0 };
    struct answer *latest = &now;

    int r = ask(wait, &now);
    if (r < 0)
        return note_failure(wait, r);
    wait->later = true;
    if (!wait->asked.root || restarted(wait->asked.root, now.root)) {
        answer_done(&wait->asked);
        wait->asked = now;
        now = (struct answer){ 0 };
        latest = &wait->asked;
    }
    if (!settled(wait->asked.root, latest->root, &wait->why))
        return 0;
    *ret = *latest;
    *latest = (struct answer){ 0 };
    return 1;
}

int status_wait(const struct ctl *ctl, struct answer *ret)
{
    CLEANUP(wait_done)
    struct wait wait = { .ctl = ctl, .deadline_ms = clock_mono_ms() + ctl->wait_ms };
    int64_t rest_ms = POLL_MS;
    char waited[CLOCK_STRLEN];

    int r;
    for (;;) {
        r = ask_once(&wait, ret);
        if (r > 0)
            return EXIT_OK;
        if (is_hopeless(r))
            return answer_failed(ctl, r, 0, &wait.asked);
        int64_t left_ms = wait.deadline_ms - clock_mono_ms();
        if (left_ms <= 0)
            break;
        rest_ms = wait.later ? POLL_MS : MIN(2 * rest_ms, LONGEST_REST_MS);
        pause_ms(MIN(left_ms, rest_ms));
    }
    fprintf(stderr, "agentctl: waited %s for %s\n", clock_ago(ctl->wait_ms, waited),
            text_str(&wait.why));
    if (r < 0)
        answer_without(ctl);
    return EXIT_DIFFERS;
}
