// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl explain ADDRESS`: the verdict on one address, what to do about it if it is not
 * announced, and how it came about: a line for each step from the objects that name it over the
 * plan to the kernel and to BIRD's peers. EXIT_UNKNOWN if nobody names it.
 *
 * A prefix is taken as well, as `agentctl routes` prints them: it must be exactly that of the
 * route which the agent explains for its first address.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/output.h"
#include "base/ip.h"

enum { ENDPOINTS_SHOWN = 8 }; /* of a service, without -v */

/* What an operator can do about a reason (plan/routes.h); NULL where that is for the agent. */
static const char *remedy_of(const char *reason)
{
    static const struct {
        const char *reason, *remedy;
    } remedies[] = {
        { "wrong-type", "make it a Service of type LoadBalancer, or let it release the address" },
        { "headless", "give the Service a clusterIP" },
        { "other-proxy", "remove the label service.kubernetes.io/service-proxy-name or headless" },
        { "special-address", "give it an address that can be routed" },
        { "outside-ranges", "see services.externalIPs and loadBalancerIPs in agentd.yaml" },
        { "in-service-cidr", "use an external IP outside services.serviceCIDRs" },
        { "ports-taken", "give the Services different ports, or different addresses" },
        { "other-class",
          "see spec.loadBalancerClass, and services.loadBalancerClass in agentd.yaml" },
        { "not-advertised", "see services.advertise in agentd.yaml" },
        { "opted-out", "remove the annotation fingerpost.io/announce from the Service" },
        { "node-gone", "add the Node again, or remove the agent from this machine" },
        { "withdrawn", "agentctl undrain" },
        { "node-excluded",
          "remove the label node.kubernetes.io/exclude-from-external-load-balancers "
          "from the Node" },
        { "network-unavailable", "see the condition NetworkUnavailable of the Node" },
        { "no-endpoints", "no pod behind it is ready: see its endpoints" },
        { "no-local-endpoints", "the nodes with a ready endpoint announce it; for this one, run a "
                                "ready pod here" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
        if (strcmp(remedies[i].reason, reason) == 0)
            return remedies[i].remedy;
    return NULL;
}

static void add_verdict(struct text *out, const struct ctl *ctl, const struct doc *answer)
{
    const struct doc *route = doc_get(answer, "route");
    const char *remedy = remedy_of(field(answer, "reason"));
    const bool announced = field_is(answer, "state", "announced");
    const bool differs = announced != field_true(route, "installed");
    char held[CLOCK_STRLEN];

    text_addf(out, "%s is %s", field(answer, "address"), differs ? "to be " : "");
    add_state(out, ctl, field(answer, "state"), 0);
    if (!field_is(answer, "reasonText", field(answer, "state"))) {
        text_add(out, ": ");
        add_clean(out, field(answer, "reasonText"));
    }
    if (field_int(route, "heldForMs") > 0)
        text_addf(out, " (%s left)", clock_ago(field_int(route, "heldForMs"), held));
    text_add_char(out, '\n');
    if (differs)
        text_addf(out, "  -> but its route is %s the kernel; see: agentctl diff\n",
                  announced ? "not in" : "still in");
    if (remedy && !announced)
        text_addf(out, "  -> %s\n", remedy);
}

/* Peers that are meant to get an announced address and do not: null is not known. */
static void add_peers_verdict(struct text *out, const struct doc *answer)
{
    const struct doc *peers = doc_get(answer, "peers");
    unsigned without = 0;

    doc_each(peer, peers)
        without += field_is(peer, "reason", "session-down") || field_is(peer, "reason", "filtered");
    if (without > 0)
        text_addf(out, "  -> but %u of %u peers do not get it; see: agentctl peers\n", without,
                  peers->count);
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

static void add_route(struct text *out, const struct doc *route)
{
    text_addf(out, "  route     %s ", field(route, "prefix"));
    if (field_is(route, "state", "announced"))
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
    add_count(out, endpoints ? endpoints->count : 0, "endpoint");
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
    if (doc_get(service, "file") && *field(service, "file")) {
        text_add(out, ", ");
        add_clean(out, field(service, "file"));
        text_addf(out, ":%s", field(service, "line"));
    }
    text_add_char(out, ')');
    if (!field_is(service, "reason", verdict)) {
        text_add(out, ": ");
        add_clean(out, field(service, "reasonText"));
    }
    text_addf(out, "\n            %s of ", field(service, "forwarding"));
    add_count(out, field_int(service, "ports"), "port");
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

/* Reads an address, or a prefix by its first address. Returns an exit status. */
static int parse_target(const char *word, struct prefix *ret)
{
    struct ip address;

    if (ip_parse(word, &address) == 0)
        *ret = ip_host_prefix(&address);
    else if (prefix_parse(word, ret) != 0) {
        fprintf(stderr, "agentctl: not an IPv4 or IPv6 address: '%s'\n", word);
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

static void add_peer(struct text *out, const struct doc *peer)
{
    text_add(out, "  peer      ");
    add_clean(out, field(peer, "name"));
    text_add_char(out, ' ');
    add_clean(out, field(peer, "address"));
    text_addf(out, ": %s\n", field(peer, "reasonText"));
}

int verb_explain(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text out = { 0 }, path = { 0 };
    char buffer[IP_STRLEN];
    struct prefix target;

    int r = parse_target(args[0], &target);
    if (r != EXIT_OK)
        return r;
    text_addf(&path, "/v1/explain?address=%s", ip_str(&target.ip, buffer));
    r = answer_get(ctl, text_str(&path), &answer);
    if (r == EXIT_OK)
        r = check_prefix(&target, &answer);
    if (r != EXIT_OK)
        return r;
    if (ctl->json)
        return print_body(answer.body, EXIT_OK);
    add_verdict(&out, ctl, answer.root);
    add_peers_verdict(&out, answer.root);
    doc_each(service, doc_get(answer.root, "services"))
        add_service(&out, ctl, service, field(answer.root, "reason"));
    add_block(&out, doc_get(answer.root, "block"));
    add_route(&out, doc_get(answer.root, "route"));
    add_kernel(&out, doc_get(answer.root, "kernel"));
    doc_each(peer, doc_get(answer.root, "peers"))
        add_peer(&out, peer);
    return print_text(&out, EXIT_OK);
}
