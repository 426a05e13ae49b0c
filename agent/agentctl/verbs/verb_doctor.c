// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl doctor`: looks at this machine, before agentd's start and after. Bad news come first;
 * what is good takes a line. Needs no agent; exits 1 if a check failed.
 */
#include <stdio.h>
#include <string.h>

#include "agentctl/ctl.h"
#include "agentctl/output.h"
#include "doctor/doctor.h"
#include "format/json.h"

static const char default_config[] = "/etc/fingerpost/agentd.yaml";

static void write_document(struct text *out, const struct findings *findings)
{
    struct json json = { .out = out };

    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "Diagnosis");
    json_begin_array(&json, "items");
    vec_each(const struct finding, finding, &findings->list) {
        json_begin_object(&json, NULL);
        json_string(&json, "check", finding->check);
        json_string(&json, "verdict", verdict_names[finding->verdict]);
        json_string(&json, "what", finding->what);
        json_string(&json, "found", finding->found);
        json_string(&json, "wanted", finding->wanted);
        json_string(&json, "remedy", finding->remedy);
        json_end_object(&json);
    }
    json_end_array(&json);
    for (int verdict = 0; verdict < VERDICTS; verdict++)
        json_int(&json, verdict_names[verdict], findings->counts[verdict]);
    json_end_object(&json);
    text_add_char(out, '\n');
}

/* As the states of `agentctl status`: OK, WARN and FAIL are coloured. */
static const char *word_of(enum verdict verdict)
{
    static const char *const words[VERDICTS] = {
        [VERDICT_OK] = "OK",
        [VERDICT_SKIPPED] = "-",
        [VERDICT_WARNING] = "WARN",
        [VERDICT_FAILED] = "FAIL",
    };
    return words[verdict];
}

static void write_finding(struct text *out, const struct ctl *ctl, const struct finding *finding)
{
    text_add(out, "  ");
    add_state(out, ctl, word_of(finding->verdict), 4);
    text_addf(out, "  %-18s ", finding->check);
    add_clean(out, finding->found);
    text_add_char(out, '\n');
    if (finding->verdict < VERDICT_WARNING)
        return;
    text_addf(out, "        wanted: %s, %s\n", finding->what, finding->wanted);
    if (finding->remedy) {
        text_add(out, "        -> ");
        add_clean(out, finding->remedy);
        text_add_char(out, '\n');
    }
}

static void write_lines(struct text *out, const struct ctl *ctl, const struct findings *findings)
{
    static const enum verdict order[] = { VERDICT_FAILED, VERDICT_WARNING, VERDICT_OK,
                                          VERDICT_SKIPPED };

    for (size_t i = 0; i < ARRAY_SIZE(order); i++)
        vec_each(const struct finding, finding, &findings->list)
            if (finding->verdict == order[i] &&
                (finding->verdict != VERDICT_SKIPPED || ctl->verbose))
                write_finding(out, ctl, finding);
    text_addf(out, "%lld failed, ", (long long)findings->counts[VERDICT_FAILED]);
    text_add_count(out, findings->counts[VERDICT_WARNING], "warning");
    text_addf(out, ", %lld ok, %lld do not apply%s.\n", (long long)findings->counts[VERDICT_OK],
              (long long)findings->counts[VERDICT_SKIPPED], ctl->verbose ? "" : " (-v shows them)");
}

int verb_doctor(const struct ctl *ctl, char **args)
{
    CLEANUP(findings_done) struct findings findings = { 0 };
    AUTOTEXT struct text out = { 0 };
    const struct doctor_options options = {
        .config = ctl->config ? ctl->config : default_config,
        .socket = ctl->socket,
        .timeout_ms = ctl->timeout_ms,
    };

    (void)args;
    int r = doctor_examine(&options, &findings);
    if (r < 0) {
        fprintf(stderr, "agentctl: cannot look at this machine: %s\n", strerror(-r));
        return EXIT_FAILED;
    }
    const int status = findings.counts[VERDICT_FAILED] ? EXIT_DIFFERS : EXIT_OK;
    if (ctl->json) {
        write_document(&out, &findings);
        return print_text(&out, status);
    }
    write_lines(&out, ctl, &findings);
    return print_lines(&out, status);
}
