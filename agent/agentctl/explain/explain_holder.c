// SPDX-License-Identifier: Apache-2.0
/*
 * Whose own an address is, in `agentctl explain`; called by verb_explain.c. A Node may be asked for
 * by its name as well, a pod by NAMESPACE/POD.
 */
#include "agentctl/explain/explain_holder.h"

#include <string.h>

#include "agentctl/field.h"
#include "agentctl/output.h"
#include "base/net/ip.h"

bool is_node_name(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    struct ip ip;
    return *word && word[strspn(word, letters)] == '\0' && ip_parse(word, &ip) < 0;
}

static void add_list(struct text *out, const char *title, const struct doc *list)
{
    const char *between = title;
    doc_each(item, list) {
        text_add(out, between);
        add_clean(out, item->text);
        between = ", ";
    }
}

static void add_node(struct text *out, const struct doc *node)
{
    if (!node)
        return;
    text_add(out, "  node      ");
    add_clean(out, field(node, "name"));
    text_add(out, field_true(node, "local") ? " (this one)" : "");
    add_list(out, ": ", doc_get(node, "addresses"));
    add_list(out, "; podCIDRs ", doc_get(node, "podCIDRs"));
    text_add(out,
             field_true(node, "ready") ? "; Ready" : "; not Ready, or its condition is not known");
    text_add(out, field_true(node, "excluded") ? "; excluded from load balancers\n" : "\n");
}

static void add_name(struct text *out, const char *title, const struct doc *item)
{
    text_addf(out, "  %-10s", title);
    add_clean(out, field(item, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(item, "name"));
    if (!doc_get(item, "node"))
        return;
    text_add(out, " on ");
    add_clean(out, field(item, "node"));
}

static const char *endpoint_state(const struct doc *endpoint)
{
    if (field_true(endpoint, "ready"))
        return "ready";
    if (!field_true(endpoint, "terminating"))
        return "not ready";
    return field_true(endpoint, "serving") ? "terminating, still serving" : "terminating";
}

void add_holder(struct text *out, const struct doc *holder)
{
    add_node(out, doc_get(holder, "node"));
    doc_each(pod, doc_get(holder, "pods")) {
        add_name(out, "pod", pod);
        text_add_char(out, '\n');
    }
    doc_each(endpoint, doc_get(holder, "endpointOf")) {
        add_name(out, "behind", endpoint);
        text_addf(out, ": %s\n", endpoint_state(endpoint));
    }
}
