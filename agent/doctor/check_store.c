// SPDX-License-Identifier: Apache-2.0
/*
 * Who is asked over HTTP beside Kubernetes: the members of the etcd that keeps claims, and Consul's
 * agent. Each is asked as the agent asks it, by the same clients, so that what is said here of
 * certificates, tokens and quorum is what would be said then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "base/text.h"
#include "client/consul/consul.h"
#include "client/consul/consul_agent.h"
#include "client/etcd/etcd.h"
#include "client/etcd/etcd_kv.h"
#include "doctor/visit.h"

enum { ANSWER_BYTES = 4 * 1024 * 1024 };

/* What came of one question, asked on a loop of its own. */
struct outcome {
    sd_event *event;
    char *error, *remedy; /* NULL: a good answer */
    bool filtered;        /* of Consul's: parts are missing for want of a right */
};

static void outcome_done(struct outcome *outcome)
{
    free(outcome->error);
    free(outcome->remedy);
    sd_event_unref(outcome->event);
}

static void note(struct outcome *outcome, const char *error, const char *remedy)
{
    outcome->error = error ? strdup(error) : NULL;
    outcome->remedy = remedy ? strdup(remedy) : NULL;
    (void)sd_event_exit(outcome->event, 0);
}

/* ---- etcd ---- */

static void on_member(void *context, const struct etcd_answer *answer)
{
    note(context, answer->error, answer->remedy);
}

/* Asks one member for a key that is its prefix. Returns 0 with the outcome, or -errno. */
static int ask_member(const struct visit *visit, const char *endpoint, struct outcome *outcome)
{
    const struct config *config = visit->config;
    CLEANUP(etcd_client_freep) struct etcd_client *client = NULL;
    AUTOTEXT struct text body = { 0 };
    struct etcd_request *request;
    const struct etcd_where where = { &endpoint,
                                      1,
                                      config->addresses.etcd.ca_file,
                                      config->addresses.etcd.cert_file,
                                      config->addresses.etcd.key_file,
                                      config->addresses.etcd.user,
                                      config->addresses.etcd.password_file };
    etcd_get(&body, config->addresses.etcd.prefix);
    const struct etcd_call call = {
        .path = "/v3/kv/range",
        .body = text_str(&body),
        .limit_ms = visit->timeout_ms,
        .answer_bytes = ANSWER_BYTES,
        .done = on_member,
        .context = outcome,
    };
    int r = text_error(&body) < 0 ? -ENOMEM : sd_event_new(&outcome->event);
    r = r < 0 ? r : etcd_client_new(outcome->event, &where, &client);
    r = r < 0 ? r : etcd_send(client, &call, &request);
    return r < 0 ? r : sd_event_loop(outcome->event);
}

/* Members that can't be used are no fault while another can. */
static void check_etcd(struct visit *visit)
{
    const string_list *members =
        visit->config ? &visit->config->addresses.etcd.endpoints : &(string_list){ 0 };
    AUTOTEXT struct text why = { 0 };
    AUTOTEXT struct text remedy = { 0 };
    size_t good = 0;
    if (members->count == 0) {
        visit_skip(visit, "no claims are kept in etcd");
        return;
    }
    vec_each(char *const, member, members) {
        CLEANUP(outcome_done) struct outcome outcome = { 0 };
        int r = ask_member(visit, *member, &outcome);
        const char *error = r < 0 ? strerror(-r) : outcome.error;
        good += error == NULL;
        if (!error)
            continue;
        text_addf(&why, "%s%s", why.length ? "; " : "", error);
        if (!remedy.length)
            text_add(&remedy, outcome.remedy ? outcome.remedy
                                             : "see whether etcd runs at addresses.etcd.endpoints");
    }
    if (good == members->count)
        visit_good(visit, "%zu of %zu members answer", good, members->count);
    else if (good)
        visit_warn(visit, text_str(&remedy), "%zu of %zu members answer; %s", good, members->count,
                   text_str(&why));
    else
        visit_fail(visit, text_str(&remedy), "%s", text_str(&why));
}

/* ---- Consul ---- */

static void on_consul(void *context, const struct consul_answer *answer)
{
    struct outcome *outcome = context;
    outcome->filtered = answer->filtered;
    note(outcome, answer->error, answer->remedy);
}

static int ask_consul(const struct visit *visit, struct outcome *outcome)
{
    static const struct consul_handler handler = { .done = on_consul };
    CLEANUP(consul_client_freep) struct consul_client *client = NULL;
    struct consul_request *request;
    struct consul_where where = visit->config->exports.consul;
    const struct consul_call call = { .path = CONSUL_AGENT_SERVICES,
                                      .limit_ms = visit->timeout_ms,
                                      .answer_bytes = ANSWER_BYTES };
    where.token = getenv("CONSUL_HTTP_TOKEN");
    int r = sd_event_new(&outcome->event);
    r = r < 0 ? r : consul_client_new(outcome->event, &where, &client);
    if (r < 0)
        return r;
    r = consul_send(client, &call, &handler, outcome, &request);
    if (r < 0) {
        char why[CONSUL_ERROR_LEN];
        const char *remedy = consul_send_failure(client, r, why);
        note(outcome, why, remedy);
        return 0;
    }
    return sd_event_loop(outcome->event);
}

static void check_consul(struct visit *visit)
{
    CLEANUP(outcome_done) struct outcome outcome = { 0 };
    if (!visit->config || !visit->config->consul.enabled) {
        visit_skip(visit, "consul is not configured");
        return;
    }
    const char *address = visit->config->exports.consul.address;
    int r = ask_consul(visit, &outcome);
    if (r < 0 || outcome.error)
        visit_fail(visit, outcome.remedy ? outcome.remedy : "see whether Consul runs there",
                   "%s: %s", address, outcome.error ? outcome.error : strerror(-r));
    else if (outcome.filtered)
        visit_fail(visit, "give the token of consul.tokenFile the policy that docs/export.md shows",
                   "%s: the token may not read all services", address);
    else
        visit_good(visit, "%s answers, and takes the token", address);
}

const struct check store_checks[] = {
    { "store.etcd", "etcd of claims", "its members answer, by our certificate", check_etcd },
    { "store.consul", "Consul's agent", "it answers, and takes the token", check_consul },
    { NULL },
};
