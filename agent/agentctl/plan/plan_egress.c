// SPDX-License-Identifier: Apache-2.0
/*
 * "egress:" and "gateway:" of `agentctl plan`.
 *
 *   pod 10.224.1.2 shop/web-1: internet/nat
 *   IPv4 internet/nat: 0.0.0.0/0 -> internet/nat
 *   internet/nat IPv4, by client: 192.0.2.21 (node-2), 192.0.2.22 (node-3, draining)
 *   stays: 10.224.0.0/16, ...
 */
#include "agentctl/plan/plan_egress.h"

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"

/* "lab/x,internet/nat" */
static void add_list(struct text *out, const struct doc *list, const char *separator)
{
    const char *comma = "";
    doc_each(item, list) {
        text_add(out, comma);
        add_clean(out, item->text);
        comma = separator;
    }
}

/* "internet/nat"; "internet/nat, waiting"; "waiting" */
static void add_policy_name(struct text *out, const struct doc *policy)
{
    const struct doc *egresses = doc_get(policy, "egresses");
    bool is_empty = !egresses || egresses->count == 0;
    add_list(out, egresses, ",");
    if (field_is(policy, "waiting", "true"))
        text_add(out, is_empty ? "waiting" : ", waiting");
}

static void add_owner(struct text *out, const struct doc *item)
{
    text_addf(out, "%s ", field(item, "address"));
    add_clean(out, field(item, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(item, "name"));
    text_add(out, ": ");
}

static void add_pods(struct text *out, const struct doc *pods)
{
    doc_each(pod, pods) {
        const struct doc *policy = doc_get(pod, "policy");
        text_add(out, "  pod ");
        add_owner(out, pod);
        if (policy)
            add_policy_name(out, policy);
        else
            text_add(out, "leaves as it is");
        text_add_char(out, '\n');
    }
}

static void add_policies(struct text *out, const struct doc *policies)
{
    doc_each(policy, policies) {
        const struct doc *destinations = doc_get(policy, "destinations");
        text_addf(out, "  IPv%s ", field(policy, "family"));
        add_policy_name(out, policy);
        text_add(out, ": ");
        const char *comma = "";
        doc_each(entry, destinations) {
            text_addf(out, "%s%s -> ", comma, field(entry, "prefix"));
            add_clean(out, field(entry, "egress"));
            comma = ", ";
        }
        if (field_is(policy, "waiting", "true"))
            text_addf(out, "%sdropped unless it stays", *comma ? "; " : "");
        text_add_char(out, '\n');
    }
}

static void add_gateways(struct text *out, const struct doc *gateways)
{
    const char *comma = "";
    if (!gateways || gateways->count == 0)
        text_add(out, "no gateway");
    doc_each(gateway, gateways) {
        bool is_active = field_is(gateway, "state", "active");
        text_addf(out, "%s%s", comma, field(gateway, "address"));
        comma = ", ";
        if (is_active && !*field(gateway, "node"))
            continue;
        text_add(out, " (");
        add_clean(out, field(gateway, "node"));
        if (!is_active)
            text_addf(out, "%s%s", *field(gateway, "node") ? ", " : "", field(gateway, "state"));
        text_add_char(out, ')');
    }
}

static void add_sets(struct text *out, const struct doc *sets)
{
    doc_each(set, sets) {
        text_add(out, "  ");
        add_clean(out, field(set, "egress"));
        text_addf(out, " IPv%s, by %s%s: ", field(set, "family"), field(set, "affinity"),
                  field_is(set, "sourcePortAuto", "true") ? ", source ports by flow" : "");
        add_gateways(out, doc_get(set, "gateways"));
        text_add_char(out, '\n');
    }
}

static void add_gateway(struct text *out, const struct doc *gateway)
{
    if (!gateway || gateway->type != DOC_MAP)
        return;
    const struct doc *serves = doc_get(gateway, "serves");
    text_add(out, "gateway:\n  serves ");
    add_list(out, serves, ", ");
    text_add(out, serves && serves->count ? "\n" : "nothing\n");
    doc_each(client, doc_get(gateway, "clients")) {
        text_add(out, "  client ");
        add_owner(out, client);
        add_list(out, doc_get(client, "egresses"), ",");
        text_add_char(out, '\n');
    }
}

void add_egress(struct text *out, const struct doc *egress)
{
    if (!egress || egress->type != DOC_MAP)
        return;
    const struct doc *stays = doc_get(egress, "stays");
    if (stays && stays->count) {
        text_add(out, "egress:\n");
        add_pods(out, doc_get(egress, "pods"));
        add_policies(out, doc_get(egress, "policies"));
        add_sets(out, doc_get(egress, "sets"));
        text_add(out, "  stays: ");
        add_list(out, stays, ", ");
        text_add_char(out, '\n');
    }
    add_gateway(out, doc_get(egress, "gateway"));
}
