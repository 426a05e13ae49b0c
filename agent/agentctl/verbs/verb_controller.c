// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl controller`: the controller on one screen, in the manner of `agentctl status`: who
 * leads, what it reads, and each job with what it counts and what waits to be written and why.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "agentctl/status/status_lines.h"
#include "agentctl/status/status_source.h"

static const char path[] = "/v1/controller";

/* "cp-1_0a · controller 0.1.0 · up 3h 12m · healthy, leads" */
static void add_headline(struct text *out, const struct ctl *ctl, const struct doc *status)
{
    const struct doc *faults = doc_get(status, "faults"), *election = doc_get(status, "election");
    int64_t up_s = field_int(status, "uptimeSeconds");
    char up[CLOCK_STRLEN];

    add_clean(out, field(status, "identity"));
    text_addf(out, " %s controller %s %s up %s %s ", ctl->mid, field(status, "version"), ctl->mid,
              up_s > 0 ? clock_ago(up_s * SECOND_MS, up) : "0s", ctl->mid);
    add_state(out, ctl, field(status, "health"), 0);
    if (faults && faults->count > 0) {
        text_add(out, ": ");
        text_add_count(out, faults->count, "fault");
    }
    text_addf(out, " %s %s\n", ctl->mid, field_true(election, "leading") ? "leads" : "follows");
}

static const char *describe_election(const struct doc *status, struct text *out)
{
    const struct doc *election = doc_get(status, "election");
    int64_t transitions = field_int(election, "transitions");
    char held[CLOCK_STRLEN];
    const char *ago = field_ago(election, "heldSince", held);

    text_addf(out, "Lease %s/%s ", field(election, "namespace"), field(election, "name"));
    if (!doc_get(election, "holder")) {
        text_add(out, "has no holder");
        return "WARN";
    }
    text_add(out, field_true(election, "leading") ? "held by this one" : "held by ");
    add_clean(out, field_true(election, "leading") ? "" : field(election, "holder"));
    if (ago)
        text_addf(out, " for %s", ago);
    text_add(out, ", ");
    text_add_count(out, transitions, "transition");
    if (doc_get(election, "error")) {
        text_add(out, "; ");
        add_clean(out, field(election, "error"));
    }
    return doc_get(election, "error") ? "WARN" : "OK";
}

/* "pools 3, blocks 10; 12 written, 1 waits" */
static void describe_job(const struct doc *job, struct text *out)
{
    const struct doc *counts = doc_get(job, "counts"), *writes = doc_get(job, "writes");
    int64_t open = field_int(writes, "waiting") + field_int(writes, "running");

    doc_each(count, counts)
        text_addf(out, "%s%s %s", count == counts->first ? "" : ", ", count->key,
                  field(counts, count->key));
    text_add(out, counts && counts->count ? "; " : "");
    add_write_counts(out, writes);
    if (open > 0)
        text_addf(out, ", %" PRId64 " %s", open, open == 1 ? "waits" : "wait");
}

static void add_title(struct text *out, const char *name)
{
    text_add_char(out, (char)toupper((unsigned char)name[0]));
    text_add(out, name + 1);
}

static void add_jobs(struct text *out, const struct ctl *ctl, const struct doc *status)
{
    doc_each(job, doc_get(status, "jobs")) {
        AUTOTEXT struct text title = { 0 }, summary = { 0 };
        const char *name = field(job, "name");
        add_title(&title, name);
        describe_job(job, &summary);
        add_line(out, ctl, text_str(&title), fault_state(status, name), text_str(&summary));
        add_faults(out, ctl, status, name);
        add_write_rows(out, doc_get(job, "writes"), status_indent);
    }
}

static bool is_job(const struct doc *status, const char *name)
{
    doc_each(job, doc_get(status, "jobs")) {
        if (field_is(job, "name", name))
            return true;
    }
    return false;
}

/* Faults of what has no line of its own; those of one subsystem stand together. */
static void add_others(struct text *out, const struct ctl *ctl, const struct doc *status)
{
    const char *last = "";

    doc_each(fault, doc_get(status, "faults")) {
        const char *name = field(fault, "subsystem");
        bool shown = strcmp(name, "election") == 0 || strcmp(name, "kubernetes") == 0;
        if (!shown && !is_job(status, name) && strcmp(name, last) != 0) {
            AUTOTEXT struct text title = { 0 }, summary = { 0 };
            add_title(&title, name);
            text_add_count(&summary, (int64_t)fault_count(status, name), "fault");
            add_line(out, ctl, text_str(&title), fault_state(status, name), text_str(&summary));
            add_faults(out, ctl, status, name);
        }
        last = name;
    }
}

static void add_subsystem(struct text *out, const struct ctl *ctl, const struct doc *status,
                          const char *name,
                          const char *(*describe)(const struct doc *status, struct text *out))
{
    AUTOTEXT struct text title = { 0 }, summary = { 0 };
    const char *state = describe(status, &summary);

    if (!state)
        return;
    add_title(&title, name);
    if (strcmp(state, "OK") == 0)
        state = fault_state(status, name);
    add_line(out, ctl, text_str(&title), state, text_str(&summary));
    add_faults(out, ctl, status, name);
}

/* --json and --brief: nothing but a word of the document is wanted. */
static int print_unparsed(const struct ctl *ctl)
{
    AUTOANSWER struct answer answer = { 0 };
    char health[16];

    int r = answer_fetch(ctl, path, &answer);
    if (r == EXIT_UNREACHABLE && ctl->brief)
        (void)print_body("unreachable\n", r);
    if (r != EXIT_OK)
        return r;
    r = health_exit(answer_word(&answer, "health", health, sizeof(health)));
    if (!ctl->brief)
        return print_body(answer.body, r);
    printf("%s\n", health);
    return r;
}

int verb_controller(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text out = { 0 };

    (void)args;
    if (ctl->json || ctl->brief)
        return print_unparsed(ctl);
    int r = answer_get(ctl, path, &answer);
    if (r != EXIT_OK)
        return r;
    add_headline(&out, ctl, answer.root);
    text_add_char(&out, '\n');
    add_subsystem(&out, ctl, answer.root, "election", describe_election);
    add_subsystem(&out, ctl, answer.root, "kubernetes", describe_kubernetes);
    if (ctl->verbose)
        add_kinds(&out, answer.root, status_indent);
    add_jobs(&out, ctl, answer.root);
    add_others(&out, ctl, answer.root);
    return print_lines(&out, health_exit(field(answer.root, "health")));
}
