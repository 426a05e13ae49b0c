// SPDX-License-Identifier: Apache-2.0
/*
 * Service NAT on the screen of `agentctl status`: how much it serves and where, and what needs
 * attention: a pass that is still to come, an interface without its programs, a map that fills up.
 * Refused packets are no bad news by themselves (somebody tries a port that is not there); they are
 * told with -v, and by `agentctl explain`. So is how many packets the hooks have seen: whether none
 * is bad news, only who knows the traffic can say.
 */
#include "agentctl/status/status_nat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"

enum { FULL_PERCENT = 80 }; /* of a map: time to raise services.maps */

static bool has_word(const struct doc *list, const char *word)
{
    doc_each(item, list) {
        if (strcmp(item->text, word) == 0)
            return true;
    }
    return false;
}

/* "; tcx on eth0, eth1 and 12 more": uplinks by name. */
static void add_interfaces(struct text *out, const struct doc *nat)
{
    const struct doc *interfaces = doc_get(nat, "interfaces");
    const char *separator = " on ";
    unsigned others = 0;

    if (!interfaces || interfaces->count == 0)
        return;
    text_addf(out, "; %s", field(nat, "method"));
    doc_each(interface, interfaces) {
        if (!has_word(doc_get(interface, "hooks"), "uplink-in")) {
            others++;
            continue;
        }
        text_add(out, separator);
        add_clean(out, field(interface, "name"));
        separator = ", ";
    }
    if (others == interfaces->count) {
        text_add(out, " on ");
        text_add_count(out, others, "interface");
    } else if (others > 0) {
        text_addf(out, " and %u more", others);
    }
}

/* "; masqueraded packets through the stack (nftables chain inet guard forward)". */
static void add_path(struct text *out, const struct doc *nat)
{
    const struct doc *path = doc_get(nat, "path");
    if (!field_is(path, "inForce", "stack"))
        return;
    text_add(out, "; masqueraded packets through the stack");
    if (strcmp(field(path, "listener"), "-") != 0) {
        text_add(out, " (");
        add_clean(out, field(path, "listener"));
        text_add(out, ")");
    }
}

static bool lacks_hooks(const struct doc *interface)
{
    const struct doc *missing = doc_get(interface, "missing");
    return missing && missing->count > 0;
}

/* Only of maps that refuse when they are full; the others forget what is oldest. */
static bool fills_up(const struct doc *map)
{
    static const char *const refuse[] = { "frontends", "services",  "ports",
                                          "slots",     "endpoints", "ranges",
                                          "flows",     "names",     "interfaces" };
    const int64_t entries = field_int(map, "entries"), capacity = field_int(map, "capacity");

    for (size_t i = 0; i < ARRAY_SIZE(refuse); i++)
        if (field_is(map, "name", refuse[i]))
            return capacity > 0 && entries * 100 >= capacity * FULL_PERCENT;
    return false;
}

void add_nat_warnings(struct text *out, const struct doc *nat, const char *indent)
{
    doc_each(interface, doc_get(nat, "interfaces")) {
        if (!lacks_hooks(interface))
            continue;
        text_add(out, indent);
        add_clean(out, field(interface, "name"));
        text_add(out, " lacks");
        doc_each(hook, doc_get(interface, "missing"))
            text_addf(out, " %s", hook->text);
        text_addf(out, "\n%s-> see: agentctl verify\n", indent);
    }
    doc_each(map, doc_get(nat, "maps")) {
        if (!fills_up(map))
            continue;
        text_addf(out, "%smap %s is %" PRId64 "%% full\n%s-> raise services.maps in agentd.yaml\n",
                  indent, field(map, "name"),
                  field_int(map, "entries") * 100 / field_int(map, "capacity"), indent);
    }
}

static bool needs_attention(const struct doc *nat)
{
    doc_each(interface, doc_get(nat, "interfaces")) {
        if (lacks_hooks(interface))
            return true;
    }
    doc_each(map, doc_get(nat, "maps")) {
        if (fills_up(map))
            return true;
    }
    return false;
}

/* All that `agentctl flows` lists, and not only connections, for which a drain waits. */
static int64_t count_flows(const struct doc *flows)
{
    int64_t count = 0;
    doc_each(state, doc_get(flows, "states"))
        count += strtoll(state->text, NULL, 10);
    return count;
}

const char *describe_services(const struct doc *status, struct text *out)
{
    const struct doc *services = doc_get(status, "services"), *nat = doc_get(status, "nat");

    if (!field_true(services, "enabled"))
        return "off";
    if (!field_true(nat, "complete")) {
        text_add_count(out, field_int(services, "count"), "service");
        text_add(out, ", the first complete pass is still to come");
        return "WARN";
    }
    text_add_count(out, field_int(nat, "services"), "service");
    text_add(out, ", ");
    text_add_count(out, field_int(nat, "endpoints"), "endpoint");
    text_add(out, ", ");
    text_add_count(out, count_flows(doc_get(nat, "flows")), "flow");
    add_interfaces(out, nat);
    add_path(out, nat);
    return needs_attention(nat) ? "WARN" : "OK";
}

void add_refusals(struct text *out, const struct doc *refusals, const char *indent)
{
    doc_each(refusal, refusals) {
        const struct doc *last = doc_get(refusal, "last");
        char buffer[CLOCK_STRLEN];
        const char *ago = field_ago(last, "at", buffer);
        text_add(out, indent);
        if (doc_get(refusal, "service")) {
            add_clean(out, field(refusal, "service"));
            text_add(out, ": ");
        }
        text_addf(out, "refused %s, ", field(refusal, "count"));
        add_clean(out, field(refusal, "reasonText"));
        text_addf(out, "; last %s -> %s/%s", field(last, "source"), field(last, "destination"),
                  field(last, "protocol"));
        if (doc_get(last, "interface")) {
            text_add(out, " on ");
            add_clean(out, field(last, "interface"));
        }
        text_addf(out, ", %s ago\n", ago ? ago : "long");
    }
}

static void add_hook_packets(struct text *out, const struct doc *packets, const char *indent)
{
    text_addf(out, "%spackets seen", indent);
    doc_each(hook, packets) {
        text_addf(out, "%s %s %" PRId64, hook == packets->first ? ":" : ",", hook->key,
                  field_int(packets, hook->key));
    }
    text_add_char(out, '\n');
}

void add_nat_details(struct text *out, const struct doc *nat, const char *indent)
{
    const struct doc *packets = doc_get(nat, "hookPackets");

    if (field_true(nat, "enabled") && packets && packets->count > 0)
        add_hook_packets(out, packets, indent);
    add_refusals(out, doc_get(nat, "refusals"), indent);
}
