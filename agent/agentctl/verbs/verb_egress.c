// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl egress`: the gateways of the Egresses that pods of this node use, and below what this
 * node does as a gateway, and what was dropped. With --ports, on a gateway: which client has had
 * which source ports of which address since when, and what it does.
 */
#include <inttypes.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "agentctl/tables.h"

const struct column egress_columns[] = {
    { "EGRESS", COLUMN_TRUNCATE | COLUMN_NAME },
    { "FAMILY", COLUMN_KEY },
    { "BY" },
    { "PODS", COLUMN_RIGHT },
    { "GATEWAY", COLUMN_KEY },
    { "NODE", COLUMN_TRUNCATE },
    { "STATE", COLUMN_STATE },
    { "PACKETS", COLUMN_RIGHT },
    { NULL },
};

const struct column port_columns[] = {
    { "CLIENT", COLUMN_NAME },
    { "POD" },
    { "AS" },
    { "PORTS" },
    { "SINCE" },
    { "FLOWS", COLUMN_RIGHT },
    { "REFUSED", COLUMN_RIGHT },
    { "PACKETS", COLUMN_RIGHT | COLUMN_WIDE },
    { "BYTES", COLUMN_RIGHT | COLUMN_WIDE },
    { NULL },
};

static void gateway_row(struct table *table, const struct doc *egress, const struct doc *gateway)
{
    const char *const cells[] = {
        field(egress, "egress"),
        field_is(egress, "family", "4") ? "IPv4" : "IPv6",
        field(egress, "affinity"),
        field(egress, "pods"),
        gateway ? field(gateway, "address") : "-",
        gateway ? field(gateway, "node") : "-",
        gateway ? field(gateway, "state") : "no gateway",
        gateway ? field(gateway, "packets") : "-",
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(egress_columns), "a cell per column");
    table_row(table, cells);
}

static unsigned gateway_rows(struct table *table, const struct doc *egress)
{
    const struct doc *gateways = doc_get(egress, "gateways");
    if (!gateways || gateways->count == 0) {
        gateway_row(table, egress, NULL);
        return 0;
    }
    doc_each(gateway, gateways)
        gateway_row(table, egress, gateway);
    return gateways->count;
}

static void add_words(struct text *out, const struct doc *list)
{
    const char *comma = "";
    doc_each(item, list) {
        text_add(out, comma);
        add_clean(out, item->text);
        comma = ", ";
    }
}

/* "Gateway of internet/nat, at 192.0.2.11, as 198.51.100.1\n  2 clients, 15 flows, 3 of 980 blocks
 * of 64 ports\n" */
static void add_gateway(struct text *out, const struct doc *gateway)
{
    if (!gateway || gateway->type != DOC_MAP)
        return;
    const struct doc *ports = doc_get(gateway, "ports"), *clients = doc_get(gateway, "clients");
    const struct doc *serves = doc_get(gateway, "serves");
    text_add(out, "Gateway of ");
    add_words(out, serves);
    text_add(out, serves && serves->count ? ", at " : "nothing yet, at ");
    add_words(out, doc_get(gateway, "reachedAt"));
    text_add(out, ", as ");
    add_words(out, doc_get(gateway, "translatesTo"));
    if (!field_is(gateway, "phase", "serving")) {
        text_add(out, ", ");
        text_add(out, field(gateway, "phase"));
    }
    text_add(out, "\n  ");
    text_add_count(out, clients ? clients->count : 0, "client");
    text_add(out, ", ");
    text_add_count(out, field_int(gateway, "flows"), "flow");
    add_age(out, gateway, "flowsAt", " counted ");
    text_addf(out, ", %s of %s blocks of %s ports\n", field(ports, "blocksUsed"),
              field(ports, "blocks"), field(ports, "block"));
}

/* "12 no-gateway (client): no gateway of the Egress is usable\n  last 10.244.1.2:40000 ->
 * 1.1.1.1:80 TCP, 4m ago\n" */
static void add_refusals(struct text *out, const struct doc *refusals)
{
    doc_each(refusal, refusals) {
        const struct doc *last = doc_get(refusal, "last");
        text_addf(out, "%s %s (%s): ", field(refusal, "count"), field(refusal, "reason"),
                  field(refusal, "side"));
        add_clean(out, field(refusal, "reasonText"));
        text_addf(out, "\n  last %s -> %s %s", field(last, "source"), field(last, "destination"),
                  field(last, "protocol"));
        add_age(out, last, "at", ", ");
        text_add_char(out, '\n');
    }
}

static int show_egresses(const struct ctl *ctl, const struct answer *answer)
{
    AUTOTEXT struct text total = { 0 }, below = { 0 };
    const struct doc *items = doc_get(answer->root, "items");
    struct table *table = table_new(ctl, egress_columns);
    unsigned gateways = 0;
    doc_each(egress, items)
        gateways += gateway_rows(table, egress);
    text_add_count(&total, gateways, "gateway");
    add_gateway(&below, doc_get(answer->root, "gateway"));
    add_refusals(&below, doc_get(answer->root, "refusals"));
    return table_print(table, "%s.\n%s", text_str(&total), text_str(&below));
}

static void port_row(struct table *table, const struct doc *client, const struct doc *block)
{
    AUTOTEXT struct text pod = { 0 }, ports = { 0 };
    char since[CLOCK_STRLEN];
    const char *ago = block ? field_ago(block, "since", since) : NULL;
    add_clean(&pod, field(client, "namespace"));
    text_add_char(&pod, '/');
    add_clean(&pod, field(client, "name"));
    if (block)
        text_addf(&ports, "%s-%s", field(block, "first"), field(block, "last"));
    const char *const cells[] = {
        field(client, "address"), text_str(&pod),           block ? field(block, "address") : "-",
        text_str(&ports),         ago ? ago : "-",          field(client, "flows"),
        field(client, "refused"), field(client, "packets"), field(client, "bytes"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(port_columns), "a cell per column");
    table_row(table, cells);
}

static int show_ports(const struct ctl *ctl, const struct answer *answer)
{
    AUTOTEXT struct text total = { 0 };
    const struct doc *gateway = doc_get(answer->root, "gateway");
    const struct doc *clients = gateway ? doc_get(gateway, "clients") : NULL;
    struct table *table = table_new(ctl, port_columns);
    doc_each(client, clients) {
        const struct doc *blocks = doc_get(client, "blocks");
        if (!blocks || blocks->count == 0)
            port_row(table, client, NULL);
        doc_each(block, blocks)
            port_row(table, client, block);
    }
    text_add_count(&total, clients ? clients->count : 0, "client");
    return table_print(table, "%s.\n%s", text_str(&total),
                       gateway && gateway->type == DOC_MAP
                           ? ""
                           : "-> this node is no gateway: egress.gateway is not in agentd.yaml\n");
}

int verb_egress(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    (void)args;
    if (ctl->json)
        return answer_print(ctl, "/v1/egress");
    int r = answer_get(ctl, "/v1/egress", &answer);
    if (r != EXIT_OK)
        return r;
    return ctl->ports ? show_ports(ctl, &answer) : show_egresses(ctl, &answer);
}
