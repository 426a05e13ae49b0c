// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl explain ADDRESS`: the verdict on one address, what to do about it if it is not
 * announced, and how it came about: a line for each step from the objects that name it over the
 * plan to the kernel and to BIRD's peers. EXIT_DIFFERS if something is wrong with it: a fault that
 * is told, or a "but" of the verdict; EXIT_UNKNOWN if nobody names it.
 *
 * A prefix is taken as well, as `agentctl routes` prints them: it must be exactly that of the
 * route which the agent explains for its first address. With a port and a protocol behind the
 * address, of NAT's frontends only those are told. A Service is taken by its name
 * (explain_service.c), and so are a Node, and a pod that the agent knows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/explain/explain_claim.h"
#include "agentctl/explain/explain_egress.h"
#include "agentctl/explain/explain_faults.h"
#include "agentctl/explain/explain_holder.h"
#include "agentctl/explain/explain_pools.h"
#include "agentctl/explain/explain_remedy.h"
#include "agentctl/explain/explain_service.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "agentctl/plan/plan_nat.h"
#include "agentctl/status/status_nat.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "plan/routes/route_table.h"

enum { ENDPOINTS_SHOWN = 8 }; /* of a service, without -v */

/* An address in BIRD's table of which no peer is known to get it: not "announced". */
static bool add_unheard(struct text *out, const struct ctl *ctl, const struct doc *answer)
{
    const struct doc *route = doc_get(answer, "route"), *reach = doc_get(route, "reach");
    const bool nobody = field_is(reach, "state", "nobody");

    if (!nobody && !field_is(reach, "state", "unknown"))
        return false;
    text_addf(out, "%s stands in table %s; ", field(answer, "address"), field(route, "table"));
    if (nobody)
        add_state(out, ctl, "not announced", 0);
    text_add(out, nobody ? ": " : "");
    add_clean(out, field(reach, "why"));
    text_add_char(out, '\n');
    return true;
}

/* To how many of the sessions that are meant to send it, and why not to the others. */
static void add_reach(struct text *out, const struct doc *reach)
{
    if (!field_is(reach, "state", "announced") && !field_is(reach, "state", "partly"))
        return;
    text_addf(out, " to %" PRId64 "/", field_int(reach, "sent"));
    text_add_count(out, field_int(reach, "meant"), "peer");
}

/* Returns whether it is as wanted. */
static bool add_verdict(struct text *out, const struct ctl *ctl, const struct doc *answer)
{
    const struct doc *route = doc_get(answer, "route");
    const bool none = field_is(answer, "state", "none"); /* nobody asks for it to be */
    const char *remedy = explain_remedy(field(answer, "reason"));
    const bool announced = field_is(answer, "state", "announced");
    const bool differs = announced != field_true(route, "installed");
    char held[CLOCK_STRLEN];

    if (add_claimed(out, ctl, answer))
        return true;
    if (add_unheard(out, ctl, answer))
        return false;
    text_addf(out, "%s is %s", field(answer, "address"), differs ? "to be " : "");
    add_state(out, ctl, none ? "not announced" : field(answer, "state"), 0);
    add_reach(out, doc_get(route, "reach"));
    if (!field_is(answer, "reasonText", field(answer, "state"))) {
        text_add(out, ": ");
        add_clean(out, field(answer, "reasonText"));
    }
    if (announced && field_int(route, "protocol") == ROUTE_PROTOCOL_DRAINING)
        text_add(out, " as draining: peers are asked to prefer other nodes");
    if (field_int(route, "heldForMs") > 0)
        text_addf(out, " (%s left)", clock_ago(field_int(route, "heldForMs"), held));
    text_add_char(out, '\n');
    if (differs)
        text_addf(out, "  -> but its route is %s the kernel; see: agentctl diff\n",
                  announced ? "not in" : "still in");
    if (remedy && !announced)
        text_addf(out, "  -> %s\n", remedy);
    return !differs;
}

/* Objects that nobody has confirmed since the start. */
static void add_copy_warning(struct text *out, const struct doc *answer)
{
    if (!doc_get(answer, "copyAsOf"))
        return;
    text_add(out, "  -> the API has not been read since the start: so it was");
    add_age(out, answer, "copyAsOf", " ");
    text_add_char(out, '\n');
}

/* Peers that are meant to get an announced address and do not: null is not known. */
static bool add_peers_verdict(struct text *out, const struct doc *answer)
{
    const struct doc *peers = doc_get(answer, "peers");
    unsigned without = 0;

    doc_each(peer, peers)
        without += field_is(peer, "reason", "session-down") || field_is(peer, "reason", "filtered");
    if (without > 0)
        text_addf(out, "  -> but %u of %u peers do not get it; see: agentctl peers\n", without,
                  peers->count);
    return without == 0;
}

static void add_block(struct text *out, const struct doc *block)
{
    if (!block)
        return;
    text_addf(out, "  block     %s ", field(block, "prefix"));
    add_clean(out, field(block, "name"));
    text_add(out, " of pool ");
    add_clean(out, field(block, "pool"));
    text_addf(out, "%s\n", field_true(block, "reserved") ? ", reserved" : "");
}

/* A pod of this node, by its interface. */
static void add_pod_interface(struct text *out, const struct doc *pod_interface)
{
    if (!pod_interface)
        return;
    text_add(out, "  interface ");
    add_clean(out, field(pod_interface, "interface"));
    text_add(out, " of container ");
    add_clean(out, field(pod_interface, "container"));
    if (doc_get(pod_interface, "hostInterface"))
        text_addf(out, ", by %s", field(pod_interface, "hostInterface"));
    text_addf(out, ": %s\n", field(pod_interface, "state"));
}

static void add_direct(struct text *out, const struct doc *direct)
{
    if (!direct)
        return;
    text_addf(out, "  block     %s ", field(direct, "prefix"));
    add_clean(out, field(direct, "block"));
    text_add(out, " of node ");
    add_clean(out, field(direct, "node"));
    text_addf(out, ": %s", field(direct, "reasonText"));
    if (doc_get(direct, "interface"))
        text_addf(out, ", via %s dev %s", field(direct, "via"), field(direct, "interface"));
    text_add_char(out, '\n');
}

static void add_route(struct text *out, const struct doc *route)
{
    if (!route)
        return;
    text_addf(out, "  route     %s ", field(route, "prefix"));
    if (!field_is(route, "state", "withheld"))
        text_addf(out, "wanted in table %s, protocol %s; ", field(route, "table"),
                  field(route, "protocol"));
    else
        text_addf(out, "not wanted in table %s; ", field(route, "table"));
    text_add(out, field_true(route, "installed") ? "installed" : "not installed");
    text_add(out, field_true(route, "guarded") ? ", guarded\n" : "\n");
}

static const char *endpoint_state(const struct doc *endpoint)
{
    if (field_true(endpoint, "ready"))
        return "ready";
    if (field_true(endpoint, "terminating"))
        return field_true(endpoint, "serving") ? "terminating, still serving" : "terminating";
    return "not ready";
}

static void add_endpoint(struct text *out, const struct doc *endpoint)
{
    text_addf(out, "            %s", field(endpoint, "address"));
    if (doc_get(endpoint, "port"))
        text_addf(out, " port %s", field(endpoint, "port"));
    if (doc_get(endpoint, "node")) {
        text_add(out, " on ");
        add_clean(out, field(endpoint, "node"));
    }
    text_addf(out, "%s: %s\n", field_true(endpoint, "local") ? " (here)" : "",
              endpoint_state(endpoint));
}

static void add_endpoints(struct text *out, const struct ctl *ctl, const struct doc *endpoints)
{
    unsigned shown = 0;

    doc_each(endpoint, endpoints) {
        if (ctl->verbose || shown < ENDPOINTS_SHOWN)
            add_endpoint(out, endpoint);
        shown++;
    }
    if (!ctl->verbose && shown > ENDPOINTS_SHOWN)
        text_addf(out, "            %u more (-v shows all)\n", shown - ENDPOINTS_SHOWN);
}

/* "3 endpoints, 2 ready, 1 of them here". */
static void add_summary(struct text *out, const struct doc *endpoints)
{
    unsigned ready = 0, here = 0;

    doc_each(endpoint, endpoints) {
        ready += field_true(endpoint, "ready");
        here += field_true(endpoint, "ready") && field_true(endpoint, "local");
    }
    text_add_count(out, endpoints ? endpoints->count : 0, "endpoint");
    if (endpoints && endpoints->count > 0)
        text_addf(out, ", %u ready", ready);
    if (ready > 0)
        text_addf(out, ", %u of them here", here);
}

/* A service's own reason is told where it is not the verdict's. */
static void add_service(struct text *out, const struct ctl *ctl, const struct doc *service,
                        const char *verdict)
{
    text_add(out, "  service   ");
    add_clean(out, field(service, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(service, "name"));
    text_addf(out, " (%s", field(service, "origin"));
    add_source(out, ", ", service);
    text_add_char(out, ')');
    if (!field_is(service, "reason", verdict)) {
        text_add(out, ": ");
        add_clean(out, field(service, "reasonText"));
    }
    text_addf(out, "\n            %s of ", field(service, "forwarding"));
    text_add_count(out, field_int(service, "ports"), "port");
    text_add(out, " with endpoints; ");
    add_summary(out, doc_get(service, "endpoints"));
    text_add_char(out, '\n');
    add_endpoints(out, ctl, doc_get(service, "endpoints"));
}

static void add_kernel(struct text *out, const struct doc *kernel)
{
    const char *title = "kernel";

    if (!kernel || kernel->count == 0)
        text_add(out, "  kernel    no route for exactly this\n");
    doc_each(entry, kernel) {
        text_addf(out, "  %-10s", title);
        add_clean(out, entry->text);
        text_add_char(out, '\n');
        title = "";
    }
}

struct target {
    struct prefix prefix;
    uint16_t port;        /* 0: not given */
    const char *protocol; /* NULL: not given */
};

/* An address with a port, and perhaps a protocol behind it. */
static bool parse_socket(const char *word, struct target *target)
{
    const char *slash = strrchr(word, '/');
    enum protocol protocol;
    char place[80];
    struct ip ip;

    if (slash && protocol_parse(slash + 1, &protocol) < 0)
        return false;
    const int length = slash ? (int)(slash - word) : (int)strlen(word);
    if ((size_t)length >= sizeof(place))
        return false;
    (void)snprintf(place, sizeof(place), "%.*s", length, word);
    if (ip_port_parse(place, &ip, &target->port) < 0 || target->port == 0)
        return false;
    target->prefix = ip_host_prefix(&ip);
    target->protocol = slash ? protocol_name(protocol) : NULL;
    return true;
}

/* Reads an address, a prefix by its first address, or an address with a port. */
static int parse_target(const char *word, struct target *ret)
{
    struct ip address;

    *ret = (struct target){ 0 };
    if (ip_parse(word, &address) == 0)
        ret->prefix = ip_host_prefix(&address);
    else if (prefix_parse(word, &ret->prefix) != 0 && !parse_socket(word, ret)) {
        fprintf(
            stderr,
            "agentctl: not NAMESPACE/NAME, a Node, an address, a prefix, ADDRESS:PORT or ADDRESS:PORT/PROTOCOL: "
            "'%s'\n",
            word);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* A prefix that is no host's must be exactly that of the route that was found. */
static int check_prefix(const struct prefix *target, const struct answer *answer)
{
    const struct prefix host = ip_host_prefix(&target->ip);
    char prefix[PREFIX_STRLEN];

    if (target->length == host.length ||
        field_is(doc_get(answer->root, "route"), "prefix", prefix_str(target, prefix)))
        return EXIT_OK;
    fprintf(stderr, "agentctl: no route has exactly the prefix %s\n", prefix);
    return EXIT_UNKNOWN;
}

static void add_proof(struct text *out, const struct doc *answer, const struct target *target)
{
    const struct doc *nat = doc_get(answer, "nat"), *proof = doc_get(nat, "proof");
    const struct doc *frontends = doc_get(nat, "frontends");

    text_add(out, "  nat       ");
    if (!proof && field_is(answer, "reason", "node-port")) {
        text_add(out, "node ports are served, not proved\n");
    } else if (!proof && target->port == 0 && (!frontends || frontends->count == 0)) {
        text_add(out, "serves no port of it\n");
    } else if (!proof) {
        text_add(out, "not proved yet\n");
    } else if (field_true(proof, "asPlanned")) {
        text_addf(out, "proved: packets through the live maps are answered as planned%s\n",
                  field_true(proof, "served") ? "" : ", none is forwarded");
    } else {
        text_add(out, "not proved: ");
        add_clean(out, field(proof, "why"));
        text_add_char(out, '\n');
    }
}

/* What NAT does with packets to the address; nothing where NAT is off. */
static void add_nat(struct text *out, const struct ctl *ctl, const struct doc *answer,
                    const struct target *target)
{
    const struct doc *nat = doc_get(answer, "nat"), *others = doc_get(nat, "otherPorts");
    if (!nat)
        return;
    add_proof(out, answer, target);
    doc_each(frontend, doc_get(nat, "frontends")) {
        text_add(out, "            ");
        add_frontend(out, frontend, frontend, ctl->verbose ? SIZE_MAX : ENDPOINTS_SHOWN);
    }
    text_addf(out, "            other ports: %s, ", field(others, "verdict"));
    add_clean(out, field(others, "reasonText"));
    text_add_char(out, '\n');
    add_refusals(out, doc_get(nat, "refusals"), "            ");
}

/* A port that was asked for and is none of its Services': nobody is served by the address there. */
static bool add_port_verdict(struct text *out, const struct doc *answer,
                             const struct target *target)
{
    const struct doc *nat = doc_get(answer, "nat"), *others = doc_get(nat, "otherPorts");
    const struct doc *frontends = doc_get(nat, "frontends");
    if (!others || target->port == 0 || (frontends && frontends->count > 0))
        return true;
    text_addf(out, "  -> but port %u%s%s is not served: %s, ", target->port,
              target->protocol ? "/" : "", target->protocol ? target->protocol : "",
              field(others, "verdict"));
    add_clean(out, field(others, "reasonText"));
    text_add_char(out, '\n');
    return false;
}

static void add_peer(struct text *out, const struct doc *peer)
{
    text_add(out, "  peer      ");
    add_clean(out, field(peer, "name"));
    text_add_char(out, ' ');
    add_clean(out, field(peer, "address"));
    text_addf(out, ": %s\n", field(peer, "reasonText"));
}

/* To whom it goes, and where this node's knowledge ends. */
static void add_peers(struct text *out, const struct doc *peers)
{
    bool sent = false;
    doc_each(peer, peers) {
        add_peer(out, peer);
        sent |= field_true(peer, "exported");
    }
    if (sent)
        text_add(out, "            what a peer makes of it can't be seen from here\n");
}

/* Returns whether nothing is wrong with it. */
static bool add_explanation(struct text *out, const struct ctl *ctl, const struct doc *answer,
                            const struct target *target)
{
    bool well = add_verdict(out, ctl, answer);
    well &= add_peers_verdict(out, answer);
    well &= add_port_verdict(out, answer, target);
    add_copy_warning(out, answer);
    well &= !add_explained_faults(out, ctl, answer);
    doc_each(service, doc_get(answer, "services"))
        add_service(out, ctl, service, field(answer, "reason"));
    add_claim(out, doc_get(answer, "claim"));
    add_holder(out, doc_get(answer, "holder"));
    add_pod_interface(out, doc_get(answer, "tenant"));
    add_nat(out, ctl, answer, target);
    add_egress_explanation(out, doc_get(answer, "egress"));
    add_block(out, doc_get(answer, "block"));
    add_direct(out, doc_get(answer, "direct"));
    add_pool_explanation(out, doc_get(answer, "pool"));
    add_route(out, doc_get(answer, "route"));
    add_kernel(out, doc_get(answer, "kernel"));
    add_peers(out, doc_get(answer, "peers"));
    return well;
}

/* What a path's document says, for `target`. */
static int explain_at(const struct ctl *ctl, const char *path, const struct target *target)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text out = { 0 };

    int r = answer_get(ctl, path, &answer);
    if (r == EXIT_OK && target->prefix.ip.family != IP_NONE)
        r = check_prefix(&target->prefix, &answer);
    if (r != EXIT_OK)
        return r;
    const int status = add_explanation(&out, ctl, answer.root, target) ? EXIT_OK : EXIT_DIFFERS;
    return ctl->json ? print_body(answer.body, status) : print_lines(&out, status);
}

/* What has a name: the path's object, or else whatever faults are told of. */
static int explain_named(const struct ctl *ctl, const char *path, const char *name)
{
    AUTOTEXT struct text out = { 0 };
    if (!ctl->json && is_unknown(ctl, path) && add_named_faults(&out, ctl, name))
        return print_lines(&out, EXIT_DIFFERS);
    return explain_at(ctl, path, &(struct target){ 0 });
}

static int explain_pod(const struct ctl *ctl, const char *name)
{
    AUTOTEXT struct text path = { 0 };
    text_addf(&path, "/v1/explain?pod=%s", name);
    return explain_named(ctl, text_str(&path), name);
}

int verb_explain(const struct ctl *ctl, char **args)
{
    AUTOTEXT struct text path = { 0 };
    char buffer[IP_STRLEN];
    struct target target = { 0 };

    if (is_object_name(args[0]))
        return explain_service(ctl, args[0], verb_explain, explain_pod);
    if (is_node_name(args[0])) {
        text_addf(&path, "/v1/explain?node=%s", args[0]);
        return explain_named(ctl, text_str(&path), args[0]);
    }
    int r = parse_target(args[0], &target);
    if (r != EXIT_OK)
        return r;
    text_addf(&path, "/v1/explain?address=%s", ip_str(&target.prefix.ip, buffer));
    if (target.port)
        text_addf(&path, "&port=%u", target.port);
    if (target.protocol)
        text_addf(&path, "&protocol=%s", target.protocol);
    return explain_at(ctl, text_str(&path), &target);
}
