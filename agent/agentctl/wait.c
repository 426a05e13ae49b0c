// SPDX-License-Identifier: Apache-2.0
/*
 * Waiting until it is true, not until it is started.
 *
 * The first answer tells how much each source has observed; from then on it is asked again until
 * that much is applied (each source has a generation that only rises, see status/status.h), the
 * agent runs, and a complete pass has been done. What is observed later is not waited for: under
 * a steady stream of changes the wait ends all the same. An agent that is not there yet is waited
 * for as well; one that restarts meanwhile begins again at generation 0, and so does the wait.
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

enum { POLL_MS = 20 };

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

/*
 * One question, answered within the time that is left; who does not want to wait asks as anybody
 * does. Returns 1 and the document if all is done, 0 if not yet, an error as is.
 */
static int ask_once(const struct ctl *ctl, int64_t left_ms, struct answer *asked, struct text *why,
                    struct answer *ret)
{
    AUTOANSWER struct answer now = { 0 };
    struct answer *latest = &now;
    int64_t limit_ms =
        ctl->wait_ms == 0 ? ctl->timeout_ms : MAX(MIN(left_ms, ctl->timeout_ms), POLL_MS);

    int r = answer_try(ctl, "/v1/status", limit_ms, NULL, &now);
    if (r < 0) {
        text_truncate(why, 0);
        text_addf(why, "the agent at %s to answer: %s", ctl->socket, strerror(-r));
        return r;
    }
    if (!asked->root || restarted(asked->root, now.root)) {
        answer_done(asked);
        *asked = now;
        now = (struct answer){ 0 };
        latest = asked;
    }
    if (!settled(asked->root, latest->root, why))
        return 0;
    *ret = *latest;
    *latest = (struct answer){ 0 };
    return 1;
}

int status_wait(const struct ctl *ctl, struct answer *ret)
{
    AUTOANSWER struct answer asked = { 0 };
    AUTOTEXT struct text why = { 0 };
    const int64_t deadline_ms = clock_mono_ms() + ctl->wait_ms;
    int64_t left_ms = ctl->wait_ms;
    char waited[CLOCK_STRLEN];

    for (;;) {
        int r = ask_once(ctl, left_ms, &asked, &why, ret);
        if (r > 0)
            return EXIT_OK;
        if (is_hopeless(r))
            return answer_failed(ctl, r, 0, &asked);
        left_ms = deadline_ms - clock_mono_ms();
        if (left_ms <= 0)
            break;
        pause_ms(MIN(left_ms, POLL_MS));
    }
    fprintf(stderr, "agentctl: waited %s for %s\n", clock_ago(ctl->wait_ms, waited),
            text_str(&why));
    return EXIT_DIFFERS;
}
