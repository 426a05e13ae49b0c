// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl routes`, `blocks`, `peers` and `services`: a noun as a table, one row per item of the
 * API's list and in its order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"

const struct column route_columns[] = {
    { "PREFIX", COLUMN_NAME },
    { "STATE", COLUMN_STATE },
    { "PROTOCOL", COLUMN_RIGHT },
    { "INSTALLED" },
    { "KIND", COLUMN_WIDE },
    { "TABLE", COLUMN_RIGHT | COLUMN_WIDE },
    { "GUARDED", COLUMN_WIDE },
    { "HELD FOR", COLUMN_RIGHT | COLUMN_WIDE },
    { "OBJECT", COLUMN_TRUNCATE },
    { "REASON", COLUMN_TRUNCATE },
    { NULL },
};

const struct column block_columns[] = {
    { "NAME", COLUMN_TRUNCATE | COLUMN_NAME },
    { "POOL", COLUMN_TRUNCATE },
    { "PREFIX" },
    { "USED", COLUMN_RIGHT },
    { "RESERVED" },
    { "PROTOCOL", COLUMN_RIGHT },
    { "INSTALLED" },
    { NULL },
};

const struct column service_columns[] = {
    { "NAMESPACE", COLUMN_TRUNCATE | COLUMN_NAME },
    { "NAME", COLUMN_TRUNCATE | COLUMN_NAME },
    { "TYPE" },
    { "ADDRESSES", COLUMN_TRUNCATE | COLUMN_LIST },
    { "ANNOUNCED", COLUMN_RIGHT },
    { "PORTS", COLUMN_TRUNCATE },
    { "VERDICT", COLUMN_STATE },
    { "STARTED", COLUMN_RIGHT },
    { "REFUSED", COLUMN_RIGHT },
    { "PACKETS", COLUMN_RIGHT | COLUMN_WIDE },
    { "BYTES", COLUMN_RIGHT | COLUMN_WIDE },
    { "NODE PORTS", COLUMN_TRUNCATE | COLUMN_WIDE },
    { "EXTERNAL", COLUMN_WIDE },
    { "INTERNAL", COLUMN_WIDE },
    { "PLACE", COLUMN_TRUNCATE | COLUMN_WIDE },
    { NULL },
};

const struct column peer_columns[] = {
    { "PEER", COLUMN_NAME },
    { "ADDRESS" },
    { "ASN", COLUMN_RIGHT },
    { "STATE", COLUMN_STATE },
    { "SINCE" },
    { "RECEIVED", COLUMN_RIGHT },
    { "ANNOUNCED", COLUMN_RIGHT },
    { "FILTERED", COLUMN_RIGHT | COLUMN_WIDE },
    { "BFD", COLUMN_WIDE },
    { "LAST ERROR", COLUMN_TRUNCATE },
    { NULL },
};

static const char *yes_no(bool value)
{
    return value ? "yes" : "no";
}

static void add_comma(struct text *out)
{
    if (out->length > 0)
        text_add(out, ", ");
}

static void add_objects(struct text *out, const struct doc *objects)
{
    doc_each(object, objects) {
        add_comma(out);
        if (doc_get(object, "namespace"))
            text_addf(out, "%s/", field(object, "namespace"));
        text_add(out, field(object, "name"));
    }
}

/* A route that is wanted is announced if a peer gets it, as far as is known. */
static bool is_sent(const struct doc *item)
{
    const struct doc *reach = doc_get(item, "reach");
    return field_is(item, "state", "announced") && !field_is(reach, "state", "nobody") &&
           !field_is(reach, "state", "unknown");
}

static const char *route_state(const struct doc *item)
{
    const struct doc *reach = doc_get(item, "reach");
    if (is_sent(item))
        return field_is(reach, "state", "partly") ? "partly" : "announced";
    if (!field_is(item, "state", "announced"))
        return field(item, "state");
    return field_is(reach, "state", "nobody") ? "unheard" : "unknown";
}

static const char *reach_reason(const struct doc *item)
{
    const struct doc *reach = doc_get(item, "reach");
    if (!field_is(item, "state", "announced"))
        return field(item, "reasonText");
    return is_sent(item) && !field_is(reach, "state", "partly") ? "-" : field(reach, "why");
}

/* Faults of the host between clients and what is announced: "fault: firewall, IPv4". */
static void add_host_places(struct text *out, const struct doc *item)
{
    const char *between = "fault: ";
    doc_each(place, doc_get(item, "hostFaults")) {
        text_add(out, between);
        text_add(out, place->text);
        between = "; ";
    }
}

static void add_reason(struct text *out, const struct doc *item)
{
    add_host_places(out, item);
    if (out->length == 0 || strcmp(reach_reason(item), "-") != 0)
        text_addf(out, "%s%s", out->length ? "; " : "", reach_reason(item));
}

static void route_row(struct table *table, const struct doc *item)
{
    AUTOTEXT struct text objects = { 0 }, reason = { 0 };
    char held[CLOCK_STRLEN];

    add_objects(&objects, doc_get(item, "objects"));
    add_reason(&reason, item);
    const char *const cells[] = {
        field(item, "prefix"),
        route_state(item),
        field(item, "protocol"),
        yes_no(field_true(item, "installed")),
        field(item, "kind"),
        table_word(field(item, "table")),
        yes_no(field_true(item, "guarded")),
        doc_get(item, "heldForMs") ? clock_ago(field_int(item, "heldForMs"), held) : "-",
        text_str(&objects),
        text_str(&reason),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(route_columns), "a cell per column");
    table_row(table, cells);
}

/* Another node's block: routed to its Node, or why it is not. */
static void direct_row(struct table *table, const struct doc *item)
{
    AUTOTEXT struct text way = { 0 };
    bool routed = field_is(item, "reason", "routed");

    if (routed)
        text_addf(&way, "via %s dev %s", field(item, "via"), field(item, "interface"));
    const char *const cells[] = {
        field(item, "prefix"),
        routed ? "direct" : "none",
        routed ? "30" : "-",
        yes_no(field_true(item, "installed")),
        "direct",
        "main",
        "no",
        "-",
        field(item, "block"),
        routed ? text_str(&way) : field(item, "reasonText"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(route_columns), "a cell per column");
    table_row(table, cells);
}

int verb_routes(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };
    int64_t announced = 0;
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/routes", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, route_columns);
    doc_each(item, items) {
        route_row(table, item);
        announced += is_sent(item);
    }
    const struct doc *directs = doc_get(answer.root, "direct");
    doc_each(item, directs)
        direct_row(table, item);
    text_add_count(&total, items->count + (directs ? directs->count : 0), "route");
    return table_print(table, "%s, %" PRId64 " announced.\n", text_str(&total), announced);
}

/* "3/32" */
static const char *block_fill(const struct doc *item, char buffer[static 32])
{
    if (!doc_get(item, "size"))
        return "-";
    (void)snprintf(buffer, 32, "%" PRId64 "/%" PRId64, field_int(item, "used"),
                   field_int(item, "size"));
    return buffer;
}

int verb_blocks(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/blocks", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, block_columns);
    doc_each(item, items) {
        char fill[32];
        const char *const cells[] = {
            field(item, "name"),
            field(item, "pool"),
            field(item, "prefix"),
            block_fill(item, fill),
            yes_no(field_true(item, "reserved")),
            field(item, "protocol"),
            yes_no(field_true(item, "installed")),
        };
        _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(block_columns), "a cell per column");
        table_row(table, cells);
    }
    text_add_count(&total, items->count, "block");
    return table_print(table, "%s.\n", text_str(&total));
}

/*
 * What NAT does with new flows to its ports, in one word; before it, what this host does with them
 * all the same.
 */
static const char *service_verdict(const struct doc *item, struct text *faults)
{
    const struct doc *ports = doc_get(item, "ports");
    const char *word = ports && ports->first ? field(ports->first, "verdict") : "-";

    doc_each(address, doc_get(item, "addresses")) {
        if (faults->length == 0)
            add_host_places(faults, address);
    }
    if (faults->length > 0)
        return text_str(faults);

    doc_each(port, ports) {
        if (!field_is(port, "verdict", word))
            return "partly";
    }
    return word;
}

/* Those that the world asks come first: what is cut on a narrow terminal are ClusterIPs. */
static void add_addresses(struct text *out, const struct doc *list, bool internal)
{
    doc_each(address, list) {
        if (field_is(address, "origin", "clusterIP") != internal)
            continue;
        add_comma(out);
        text_add(out, field(address, "address"));
    }
}

/* Whether it may be announced at all: a ClusterIP is not, by services.advertise. */
static bool is_wanted(const struct doc *address)
{
    return !field_is(address, "reason", "not-advertised") &&
           !field_is(address, "reason", "opted-out");
}

static void service_row(struct table *table, const struct doc *item)
{
    AUTOTEXT struct text addresses = { 0 }, ports = { 0 }, announced = { 0 };
    AUTOTEXT struct text node_ports = { 0 }, place = { 0 }, faults = { 0 };
    const struct doc *traffic = doc_get(item, "traffic");
    const struct doc *list = doc_get(item, "addresses");
    unsigned count = 0, wanted = 0;

    add_addresses(&addresses, list, false);
    add_addresses(&addresses, list, true);
    doc_each(address, list) {
        count += field_is(address, "state", "announced");
        wanted += is_wanted(address);
    }
    doc_each(port, doc_get(item, "ports")) {
        add_comma(&ports);
        text_addf(&ports, "%s/%s", field(port, "port"), field(port, "protocol"));
        if (!doc_get(port, "nodePort"))
            continue;
        add_comma(&node_ports);
        text_add(&node_ports, field(port, "nodePort"));
    }
    doc_each(lack, doc_get(item, "pending")) {
        add_comma(&addresses);
        text_addf(&addresses, "pending: %s", field(lack, "reason"));
    }
    if (wanted > 0)
        text_addf(&announced, "%u/%u", count, wanted);
    add_source(&place, "", item);
    const char *const cells[] = {
        field(item, "namespace"),
        field(item, "name"),
        field(item, "type"),
        text_str(&addresses),
        text_str(&announced),
        text_str(&ports),
        service_verdict(item, &faults),
        field(traffic, "flows"),
        field(traffic, "refused"),
        field(traffic, "packets"),
        field(traffic, "bytes"),
        text_str(&node_ports),
        field(item, "externalTrafficPolicy"),
        field(item, "internalTrafficPolicy"),
        text_str(&place),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(service_columns), "a cell per column");
    table_row(table, cells);
}

int verb_services(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/services", &answer, &status);
    if (!items)
        return status;
    struct ctl wide = *ctl;
    wide.wide |= ctl->verbose;
    struct table *table = table_new(&wide, service_columns);
    doc_each(item, items)
        service_row(table, item);
    text_add_count(&total, items->count, "service");
    return table_print(table, "%s.\n", text_str(&total));
}

static void peer_row(struct table *table, const struct doc *item)
{
    char since[CLOCK_STRLEN];
    const char *ago = field_ago(item, "since", since);
    const char *const cells[] = {
        field(item, "name"),      field(item, "address"),  field(item, "asn"),
        field(item, "state"),     ago ? ago : "-",         field(item, "received"),
        field(item, "announced"), field(item, "filtered"), field(item, "bfd"),
        field(item, "lastError"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(peer_columns), "a cell per column");
    table_row(table, cells);
}

/* Why there are none, where that is not BIRD's configuration. */
static void add_peers_hint(struct text *out, const struct doc *answer)
{
    if (doc_get(answer, "enabled") && !field_true(answer, "enabled")) {
        text_add(out, "-> BIRD is not asked: bird.socket is not set in agentd.yaml\n");
    } else if (doc_get(answer, "reachable") && !field_true(answer, "reachable")) {
        text_add(out, "-> ");
        add_clean(out,
                  doc_get(answer, "error") ? field(answer, "error") : "BIRD has not answered yet");
        text_add_char(out, '\n');
    }
}

int verb_peers(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 }, hint = { 0 };
    unsigned established = 0;
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/peers", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, peer_columns);
    doc_each(item, items) {
        peer_row(table, item);
        established += field_is(item, "state", "Established");
    }
    text_add_count(&total, items->count, "peer");
    add_peers_hint(&hint, answer.root);
    return table_print(table, "%s, %u established.\n%s", text_str(&total), established,
                       text_str(&hint));
}
