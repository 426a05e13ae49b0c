// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl status`: health on one screen, and `agentctl faults`.
 *
 * One line of what and how much for the agent, then one per subsystem: those with bad news first,
 * each with its faults (what is wrong and for how long; what to do). Everything comes from the
 * Status document, so that what a person sees is what a script can read. A subsystem is what the
 * table below knows, or any other name that a fault carries.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "agentctl/status/status_lines.h"
#include "agentctl/status/status_nat.h"
#include "agentctl/status/status_source.h"
#include "agentctl/wait.h"

static int64_t unheard_addresses(const struct doc *routes)
{
    const struct doc *reach = doc_get(routes, "reach");
    return reach ? field_int(reach, "nobody") + field_int(reach, "unknown") : 0;
}

/* Those that a peer gets; where that can't be known, those that stand. */
static int64_t sent_addresses(const struct doc *routes)
{
    return field_int(routes, "announced") - unheard_addresses(routes);
}

/*
 * Each describes its subsystem in words and returns the state word, or NULL for no line. That a
 * fault holds is added by the caller: it turns OK into WARN.
 */
static const char *describe_routes(const struct doc *status, struct text *out)
{
    const struct doc *routes = doc_get(status, "routes");
    int64_t wanted = field_int(routes, "wanted"), installed = field_int(routes, "installed");

    if (!field_true(routes, "complete")) {
        text_add(out, "the first complete pass is still to come");
        return "WARN";
    }
    text_addf(out, "%" PRId64 " wanted, %" PRId64 " installed; ", wanted, installed);
    text_add_count(out, sent_addresses(routes), "address");
    text_addf(out, " announced, ");
    if (unheard_addresses(routes) > 0)
        text_addf(out, "%" PRId64 " unheard, ", unheard_addresses(routes));
    if (field_int(routes, "blockedAddresses") > 0)
        text_addf(out, "%" PRId64 " blocked, ", field_int(routes, "blockedAddresses"));
    text_addf(out, "%" PRId64 " withheld", field_int(routes, "withheld"));
    if (field_int(routes, "held") > 0)
        text_addf(out, " (%" PRId64 " held down)", field_int(routes, "held"));
    text_add(out, ", ");
    text_add_count(out, field_int(routes, "blocks"), "block");
    if (field_int(routes, "foreign") > 0)
        text_addf(out, "; %" PRId64 " foreign", field_int(routes, "foreign"));
    if (wanted > 0 && field_int(routes, "refused") >= wanted)
        return "FAIL";
    return wanted == installed ? "OK" : "WARN";
}

static bool routes_differ(const struct doc *status)
{
    const struct doc *routes = doc_get(status, "routes");
    return field_true(routes, "complete") &&
           field_int(routes, "wanted") != field_int(routes, "installed");
}

/* Shown once BIRD has answered or an attempt has failed. */
static const char *describe_bgp(const struct doc *status, struct text *out)
{
    const struct doc *bgp = doc_get(status, "bgp"), *learned = doc_get(bgp, "learned");
    const struct doc *expected = doc_get(bgp, "expected");
    int64_t peers = field_int(bgp, "peers"), established = field_int(bgp, "established");

    if (!field_true(bgp, "enabled"))
        return NULL;
    if (!field_true(bgp, "reachable")) {
        add_clean(out, doc_get(bgp, "error") ? field(bgp, "error") : "BIRD has not answered yet");
        add_age(out, bgp, "since", ", since ");
        return "WARN";
    }
    text_addf(out, "%" PRId64 "/", established);
    text_add_count(out, peers, "peer");
    text_add(out, " established, ");
    text_add_count(out, field_int(bgp, "announced"), "prefix");
    text_add(out, " announced");
    if (field_true(bgp, "expectsNone"))
        text_add(out, "; bird.expectPeers expects none");
    doc_each(family, learned) {
        int64_t want = field_int(expected, family->key), have = field_int(learned, family->key);
        if (!field_is(learned, family->key, "-") && have != want)
            text_addf(out, "; BIRD has %" PRId64 " of %" PRId64 " %s routes", have, want,
                      family->key);
    }
    if (field_true(bgp, "expectsNone"))
        return "OK";
    return established == 0 || established < peers ? "WARN" : "OK";
}

/* Shown where services are registered with Consul's agent. */
static const char *describe_consul(const struct doc *status, struct text *out)
{
    const struct doc *consul = doc_get(status, "consul");
    int64_t registered = field_int(consul, "registered"), wanted = field_int(consul, "wanted");

    if (!consul)
        return NULL;
    if (doc_get(consul, "error")) {
        add_clean(out, field(consul, "error"));
        add_age(out, consul, "readAt", ", read ");
        return "WARN";
    }
    text_addf(out, "%" PRId64 " of ", registered);
    text_add_count(out, wanted, "service");
    text_addf(out, " registered, %" PRId64 " healthy", field_int(consul, "healthy"));
    if (field_int(consul, "kept") > 0)
        text_addf(out, ", %" PRId64 " kept of Services that are refused",
                  field_int(consul, "kept"));
    if (field_int(consul, "pending") > 0)
        text_addf(out, ", %" PRId64 " to be written", field_int(consul, "pending"));
    add_age(out, consul, "readAt", ", read ");
    return "OK";
}

/* Shown where pods of this node may leave by gateways, or this node is one. */
static const char *describe_egress(const struct doc *status, struct text *out)
{
    const struct doc *egress = doc_get(status, "egress");

    if (!egress || egress->type == DOC_NULL)
        return NULL;
    text_add_count(out, field_int(egress, "pods"), "pod");
    text_add(out, field_int(egress, "pods") == 1 ? " leaves by " : " leave by ");
    text_add_count(out, field_int(egress, "gateways"), "gateway");
    if (field_true(egress, "gateway")) {
        text_add(out, "; this node is a gateway of ");
        text_add_count(out, field_int(egress, "clients"), "client");
    }
    return "OK";
}

/* The table of nftables, where services.firewall has one. */
static const char *describe_firewall(const struct doc *status, struct text *out)
{
    const struct doc *firewall = doc_get(status, "firewall");

    if (!firewall || field_is(firewall, "mode", "off") || field_is(firewall, "mode", "-"))
        return NULL;
    text_addf(out, "%s: ", field(firewall, "mode"));
    text_add_count(out, field_int(firewall, "openings"), "opening");
    text_add(out, field_true(firewall, "there") ? " in nftables" : ", not in nftables");
    return field_true(firewall, "there") ? "OK" : "WARN";
}

static const char *describe_config(const struct doc *status, struct text *out)
{
    const struct doc *config = doc_get(status, "config");

    if (!field_true(config, "refused") && fault_count(status, "config") == 0)
        return NULL;
    add_clean(out, field(config, "path"));
    if (field_true(config, "refused"))
        add_age(out, config, "loadedAt", " is refused; in force is what was loaded ");
    return "WARN";
}

/* What others depend on comes first: an interface that is gone takes routes and sessions along. */
static const struct {
    const char *title, *subsystem;
    const char *(*describe)(const struct doc *status, struct text *out);
} subsystems[] = {
    { "Config", "config", describe_config },
    { "Manifests", "manifests", describe_manifests },
    { "Kubernetes", "kubernetes", describe_kubernetes },
    { "Services", "services", describe_services },
    { "Firewall", "firewall", describe_firewall },
    { "Egress", "egress", describe_egress },
    { "Routes", "routes", describe_routes },
    { "BGP", "bgp", describe_bgp },
    { "Consul", "consul", describe_consul },
};

/* The lines of known subsystems with bad news, or of those without. */
static void add_subsystems(struct text *out, const struct ctl *ctl, const struct doc *status,
                           bool bad)
{
    for (size_t i = 0; i < ARRAY_SIZE(subsystems); i++) {
        AUTOTEXT struct text summary = { 0 };
        const char *name = subsystems[i].subsystem;
        const char *state = subsystems[i].describe(status, &summary);
        size_t faults = fault_count(status, name);

        const char *told = fault_state(status, name);

        if (state && strcmp(state, "FAIL") != 0 && strcmp(told, "OK") != 0) {
            text_add(&summary, strcmp(state, "off") == 0 ? "NAT is off" : "");
            state = told;
        }
        if (!state || bad == (strcmp(state, "OK") == 0 || strcmp(state, "off") == 0))
            continue;
        add_line(out, ctl, subsystems[i].title, state, text_str(&summary));
        add_faults(out, ctl, status, name);
        if (ctl->verbose && strcmp(name, "kubernetes") == 0) {
            add_kinds(out, status, status_indent);
            add_writes(out, status, status_indent);
        }
        if (faults == 0 && strcmp(name, "routes") == 0 && routes_differ(status))
            text_addf(out, "%s-> see: agentctl diff\n", status_indent);
        if (strcmp(name, "services") == 0)
            add_nat_warnings(out, doc_get(status, "nat"), status_indent);
        if (ctl->verbose && strcmp(name, "services") == 0)
            add_nat_details(out, doc_get(status, "nat"), status_indent);
    }
}

/* Of those that are not shown, faults are told all the same. */
static bool is_known(const struct doc *status, const char *subsystem)
{
    for (size_t i = 0; i < ARRAY_SIZE(subsystems); i++) {
        AUTOTEXT struct text summary = { 0 };
        if (strcmp(subsystems[i].subsystem, subsystem) == 0)
            return subsystems[i].describe(status, &summary);
    }
    return false;
}

/* Faults of other subsystems; their items stand together, the list is in order. */
static void add_others(struct text *out, const struct ctl *ctl, const struct doc *status)
{
    const char *last = "";

    doc_each(fault, doc_get(status, "faults")) {
        const char *name = field(fault, "subsystem");
        if (!is_known(status, name) && strcmp(name, last) != 0) {
            AUTOTEXT struct text title = { 0 }, summary = { 0 };
            text_add_char(&title, (char)toupper((unsigned char)name[0]));
            text_add(&title, name + 1);
            text_add_count(&summary, (int64_t)fault_count(status, name), "fault");
            add_line(out, ctl, text_str(&title), fault_state(status, name), text_str(&summary));
            add_faults(out, ctl, status, name);
        }
        last = name;
    }
}

/* What this node is to the network, if it is not plainly serving. */
static void add_standing(struct text *out, const struct ctl *ctl, const struct doc *standing)
{
    char buffer[CLOCK_STRLEN];

    if (field_true(standing, "nodeGone"))
        text_addf(out, " %s its Node is gone", ctl->mid);
    if (!doc_get(standing, "phase") || field_is(standing, "phase", "serving"))
        return;
    text_addf(out, " %s %s", ctl->mid, field(standing, "phase"));
    if (field_int(standing, "endsInMs") > 0)
        text_addf(out, ", %s left", clock_ago(field_int(standing, "endsInMs"), buffer));
    else if (field_ago(standing, "since", buffer))
        text_addf(out, " for %s", field_ago(standing, "since", buffer));
    if (doc_get(standing, "reason")) {
        text_add(out, ": ");
        add_clean(out, field(standing, "reason"));
    }
}

static void add_headline(struct text *out, const struct ctl *ctl, const struct doc *status)
{
    const struct doc *faults = doc_get(status, "faults");
    const char *health = field(status, "health");
    int64_t up_s = field_int(status, "uptimeSeconds");
    char up[CLOCK_STRLEN];

    add_clean(out, field(status, "node"));
    text_addf(out, " %s agent %s %s up %s %s ", ctl->mid, field(status, "version"), ctl->mid,
              up_s > 0 ? clock_ago(up_s * SECOND_MS, up) : "0s", ctl->mid);
    add_state(out, ctl, health, 0);
    if (faults && faults->count > 0) {
        text_add(out, ": ");
        text_add_count(out, faults->count, "fault");
    } else if (field_true(doc_get(status, "bgp"), "unheard")) {
        text_add(out, ": no peer gets what this node announces");
    } else if (strcmp(health, "degraded") == 0) {
        text_add(out, ": wanted and installed differ");
    }
    add_standing(out, ctl, doc_get(status, "standing"));
    if (field_is(status, "phase", "stopping"))
        text_addf(out, " %s stopping", ctl->mid);
    text_add_char(out, '\n');
}

/* If no subsystem has bad news, and the node serves as it shall. */
static bool is_well(const struct doc *status)
{
    const struct doc *faults = doc_get(status, "faults"), *standing = doc_get(status, "standing");

    if (!field_is(status, "health", "healthy") || !field_is(status, "phase", "running") ||
        (faults && faults->count > 0) || field_true(standing, "nodeGone") ||
        (doc_get(standing, "phase") && !field_is(standing, "phase", "serving")))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(subsystems); i++) {
        AUTOTEXT struct text summary = { 0 };
        const char *state = subsystems[i].describe(status, &summary);
        if (state && strcmp(state, "OK") != 0 && strcmp(state, "off") != 0)
            return false;
    }
    return true;
}

/* What "healthy" means here: no more than is known. */
static void add_well(struct text *out, const struct doc *status)
{
    text_add(out, "All is well: ");
    if (field_true(doc_get(status, "services"), "enabled"))
        text_add(out, "NAT is proved, ");
    text_add(out, "routes are in the kernel");
    const struct doc *bgp = doc_get(status, "bgp");
    if (!field_true(bgp, "enabled")) {
        text_add(out, "; BIRD is not asked (bird.socket).\n");
    } else if (field_true(bgp, "expectsNone")) {
        text_add(out, "; no BGP session is expected (bird.expectPeers).\n");
    } else {
        text_add(out, " and sent to ");
        text_add_count(out, field_int(bgp, "established"), "BGP peer");
        text_add(out, "; what a peer makes of them can't be seen from here.\n");
    }
}

/* --json and --brief: nothing but a word of the document is wanted. */
static int get_unparsed(const struct ctl *ctl, struct answer *answer)
{
    char health[16];

    int r = ctl->wait_ms >= 0 ? status_wait(ctl, answer) : answer_fetch(ctl, "/v1/status", answer);
    if (r == EXIT_UNREACHABLE && ctl->brief)
        (void)print_body("unreachable\n", r);
    if (r != EXIT_OK)
        return r;
    r = health_exit(answer_word(answer, "health", health, sizeof(health)));
    if (!ctl->brief)
        return print_body(answer->body, r);
    printf("%s\n", health);
    return r;
}

int verb_status(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text out = { 0 };

    (void)args;
    if (ctl->json || ctl->brief)
        return get_unparsed(ctl, &answer);
    int r = ctl->wait_ms >= 0 ? status_wait(ctl, &answer) : answer_get(ctl, "/v1/status", &answer);
    if (r != EXIT_OK)
        return r;
    add_headline(&out, ctl, answer.root);
    if (is_well(answer.root))
        add_well(&out, answer.root);
    text_add_char(&out, '\n');
    add_subsystems(&out, ctl, answer.root, true);
    add_others(&out, ctl, answer.root);
    add_subsystems(&out, ctl, answer.root, false);
    return print_lines(&out, health_exit(field(answer.root, "health")));
}

int verb_faults(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text out = { 0 };

    (void)args;
    AUTOTEXT struct text path = { 0 };
    text_addf(&path, "/v1/faults%s%s", ctl->code ? "?code=" : "", ctl->code ? ctl->code : "");
    int r = answer_get(ctl, text_str(&path), &answer);
    if (r != EXIT_OK)
        return r;
    const struct doc *items = doc_get(answer.root, "items");
    if (!items)
        return answer_failed(ctl, -EPROTO, 0, &answer);
    r = items->count > 0 ? EXIT_DIFFERS : EXIT_OK;
    if (ctl->json)
        return print_body(answer.body, r);
    add_fault_list(&out, ctl, items);
    if (!ctl->no_header) {
        text_add(&out, r == EXIT_OK ? "" : "\n");
        text_add_count(&out, items->count, "fault");
        text_add(&out, ".\n");
    }
    return print_lines(&out, r);
}
