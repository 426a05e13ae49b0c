// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl explain ADDRESS`: one address from the objects that name it to the kernel and BGP, a
 * line for each step. EXIT_UNKNOWN if nobody names it.
 */
#include <stdio.h>

#include "agentctl/answer.h"
#include "agentctl/output.h"
#include "base/ip.h"

static void add_verdict(struct text *out, const struct ctl *ctl, const struct doc *answer)
{
    text_addf(out, "%s is ", field(answer, "address"));
    add_state(out, ctl, field(answer, "state"), 0);
    if (!field_is(answer, "reasonText", field(answer, "state")))
        text_addf(out, ": %s", field(answer, "reasonText"));
    text_add_char(out, '\n');
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

static void add_service(struct text *out, const struct doc *service)
{
    text_add(out, "  service   ");
    add_clean(out, field(service, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(service, "name"));
    text_addf(out, " (%s): %s; %s of ", field(service, "origin"), field(service, "reasonText"),
              field(service, "forwarding"));
    add_count(out, field_int(service, "ports"), "port");
    text_add(out, " with endpoints");
    if (doc_get(service, "file") && *field(service, "file")) {
        text_add(out, "; ");
        add_clean(out, field(service, "file"));
        text_addf(out, ":%s", field(service, "line"));
    }
    text_add_char(out, '\n');
    doc_each(endpoint, doc_get(service, "endpoints"))
        add_endpoint(out, endpoint);
}

static void add_kernel(struct text *out, const struct doc *kernel)
{
    if (!kernel || kernel->count == 0)
        text_add(out, "  kernel    no route for exactly this\n");
    doc_each(entry, kernel) {
        text_add(out, "  kernel    ");
        add_clean(out, entry->text);
        text_add_char(out, '\n');
    }
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
    struct ip address;

    if (ip_parse(args[0], &address) < 0) {
        fprintf(stderr, "agentctl: not an IPv4 or IPv6 address: '%s'\n", args[0]);
        return EXIT_USAGE;
    }
    text_addf(&path, "/v1/explain?address=%s", ip_str(&address, buffer));
    int r = answer_get(ctl, text_str(&path), &answer);
    if (r != EXIT_OK)
        return r;
    if (ctl->json)
        return print_body(answer.body, EXIT_OK);
    add_verdict(&out, ctl, answer.root);
    add_block(&out, doc_get(answer.root, "block"));
    add_route(&out, doc_get(answer.root, "route"));
    doc_each(service, doc_get(answer.root, "services"))
        add_service(&out, service);
    add_kernel(&out, doc_get(answer.root, "kernel"));
    doc_each(peer, doc_get(answer.root, "peers"))
        add_peer(&out, peer);
    return print_text(&out, EXIT_OK);
}
