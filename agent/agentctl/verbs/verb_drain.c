// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl drain`, `withdraw`, `undrain`: the operator's word on this node's service addresses.
 *
 * The agent keeps the state and runs the phases; the command only asks, and then watches until the
 * drain is over: that of the node, and on an egress gateway that of the gateway, which has a time
 * of its own. It asks again when the agent tells of a change; a gateway's connections, of which no
 * change tells, are asked for each second as well. Interrupting it stops the watching, not the
 * drain.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "base/cleanup.h"
#include "client/agent_changes.h"
#include "format/json.h"

enum {
    REST_MS = 100, /* changes come in crowds: between two questions */
    INTERVAL_MS = 1000,
    UNAVAILABLE = 503, /* the HTTP status of a part that is off */
};

static const char *phase_of(const struct answer *answer)
{
    return field(doc_get(answer->root, "standing"), "phase");
}

static bool in_phase(const struct answer *answer, const char *phase)
{
    return field_is(doc_get(answer->root, "standing"), "phase", phase);
}

static void say_phase(const struct answer *answer)
{
    const struct doc *standing = doc_get(answer->root, "standing");
    char left[CLOCK_STRLEN];
    int64_t ends_ms = field_int(standing, "endsInMs");

    printf("%s", phase_of(answer));
    if (ends_ms > 0)
        printf(", %s left", clock_ago(ends_ms, left));
    printf("; %s announced\n", field(doc_get(answer->root, "routes"), "announced"));
    (void)fflush(stdout);
}

/* Until it is worth asking again. `moves`: of what is watched, no change may tell. */
static void await_news(struct agent_changes *changes, bool moves)
{
    const struct timespec rest = { .tv_nsec = REST_MS * 1000000L };

    (void)nanosleep(&rest, NULL);
    agent_changes_wait(changes, INTERVAL_MS - REST_MS, moves);
}

/* Watches the gateway, if this node is one, until its flows may go elsewhere. */
static int watch_gateway(const struct ctl *ctl, struct agent_changes *changes)
{
    int64_t said = -1;
    for (;;) {
        AUTOANSWER struct answer answer = { 0 };
        long status = 0;
        int r = answer_try(ctl, "/v1/egress", ctl->timeout_ms, &status, &answer);
        if (r == -EREMOTEIO && status == UNAVAILABLE)
            return EXIT_OK; /* egress is off */
        if (r < 0)
            return answer_failed(ctl, r, status, &answer);
        const struct doc *gateway = doc_get(answer.root, "gateway");
        if (!gateway || gateway->type != DOC_MAP || field_is(gateway, "phase", "serving"))
            return EXIT_OK; /* none, or somebody ended the drain */
        int64_t connections = field_int(gateway, "connections");
        bool ended = field_is(gateway, "phase", "withdrawn");
        if (!ctl->json && (ended || connections != said))
            printf("gateway %s; %" PRId64 " connections\n", field(gateway, "phase"), connections);
        (void)fflush(stdout);
        if (ended)
            return EXIT_OK;
        said = connections;
        await_news(changes, true);
    }
}

/* One line per phase, until the last. */
static int watch(const struct ctl *ctl, struct answer *answer)
{
    CLEANUP(agent_changes_freep) struct agent_changes *changes = NULL;
    AUTOTEXT struct text said = { 0 };

    int r = agent_changes_new(ctl->socket, &changes);
    if (r < 0)
        return answer_failed(ctl, r, 0, answer);
    for (;;) {
        bool ended = in_phase(answer, "drained");
        if (!field_is(doc_get(answer->root, "standing"), "phase", text_str(&said))) {
            if (!ctl->json)
                say_phase(answer);
            text_truncate(&said, 0);
            text_add(&said, phase_of(answer));
        }
        if (ended || ctl->no_wait) {
            r = ctl->no_wait ? EXIT_OK : watch_gateway(ctl, changes);
            return ctl->json && r == EXIT_OK ? print_body(answer->body, EXIT_OK) : r;
        }
        if (in_phase(answer, "serving")) {
            fprintf(stderr, "agentctl: somebody ended the drain\n");
            return EXIT_FAILED;
        }
        await_news(changes, false);
        answer_done(answer);
        r = answer_get(ctl, "/v1/status", answer);
        if (r != EXIT_OK)
            return r;
    }
}

/* What is asked for, in a document; NULL without memory. */
static char *request(const struct ctl *ctl)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    json_begin_object(&json, NULL);
    if (ctl->reason)
        json_string(&json, "reason", ctl->reason);
    if (ctl->announce_for)
        json_string(&json, "announceFor", ctl->announce_for);
    json_end_object(&json);
    return text_take(&out);
}

/* With a document only if there is something to say: older agents take none. */
static int post(const struct ctl *ctl, const char *path, struct answer *answer)
{
    AUTOFREE char *document = request(ctl);

    if (!document) {
        fprintf(stderr, "agentctl: %s\n", strerror(ENOMEM));
        return EXIT_FAILED;
    }
    int r = answer_post(ctl, path, ctl->reason || ctl->announce_for ? document : NULL, answer);
    const struct doc *standing = r == EXIT_OK ? doc_get(answer->root, "standing") : NULL;
    if (ctl->reason && standing && !field_is(standing, "reason", ctl->reason))
        fprintf(stderr, "agentctl: this agent is older than the command: it keeps no reason\n");
    return r;
}

int verb_drain(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };

    (void)args;
    int r = post(ctl, "/v1/drain", &answer);
    return r == EXIT_OK ? watch(ctl, &answer) : r;
}

static int ask(const struct ctl *ctl, const char *path)
{
    AUTOANSWER struct answer answer = { 0 };

    int r = post(ctl, path, &answer);
    if (r != EXIT_OK)
        return r;
    if (ctl->json)
        return print_body(answer.body, EXIT_OK);
    printf("%s\n", phase_of(&answer));
    return EXIT_OK;
}

int verb_withdraw(const struct ctl *ctl, char **args)
{
    (void)args;
    return ask(ctl, "/v1/withdraw");
}

int verb_undrain(const struct ctl *ctl, char **args)
{
    (void)args;
    return ask(ctl, "/v1/undrain");
}
