// SPDX-License-Identifier: Apache-2.0
/*
 * "services:" of `agentctl plan`, and NAT in `agentctl explain`: a line for each frontend.
 *
 *   10.0.0.1:80/TCP default/web:http loadBalancer, outside: drop, no local endpoints;
 *       pod, node -> 10.224.1.3:8080, masqueraded from node
 *
 * (in one line). Sources to which the same happens stand together, and are not named where it is
 * all of them; whether they are masqueraded is said behind.
 */
#include "agentctl/plan/plan_nat.h"

#include <stdint.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"

enum { SOURCES = 3 };

static const char *const source_names[SOURCES] = { "outside", "pod", "node" };

static bool same_lists(const struct doc *a, const struct doc *b)
{
    const struct doc *left = a ? a->first : NULL, *right = b ? b->first : NULL;
    for (; left && right; left = left->next, right = right->next) {
        if (strcmp(left->text, right->text) != 0)
            return false;
    }
    return left == right;
}

static bool same_outcomes(const struct doc *a, const struct doc *b)
{
    return strcmp(field(a, "verdict"), field(b, "verdict")) == 0 &&
           strcmp(field(a, "reason"), field(b, "reason")) == 0 &&
           same_lists(doc_get(a, "endpoints"), doc_get(b, "endpoints"));
}

static void add_names(struct text *out, const bool *chosen)
{
    const char *comma = "";
    for (int i = 0; i < SOURCES; i++) {
        if (!chosen[i])
            continue;
        text_addf(out, "%s%s", comma, source_names[i]);
        comma = ", ";
    }
}

static int count_chosen(const bool *chosen)
{
    int count = 0;
    for (int i = 0; i < SOURCES; i++)
        count += chosen[i];
    return count;
}

static void add_list(struct text *out, const struct doc *list, size_t limit)
{
    const char *comma = "";
    size_t count = 0;

    doc_each(item, list) {
        if (count++ < limit) {
            text_addf(out, "%s%s", comma, item->text);
            comma = ", ";
        }
    }
    if (count > limit)
        text_addf(out, " and %zu more", count - limit);
}

/* What happens to the members of one group. */
static void add_outcome(struct text *out, const struct doc *outcome, const bool *members,
                        const bool *masqueraded, size_t limit)
{
    if (count_chosen(members) < SOURCES) {
        add_names(out, members);
        text_add(out, field_is(outcome, "verdict", "forward") ? " " : ": ");
    }
    if (field_is(outcome, "verdict", "forward")) {
        text_add(out, "-> ");
        add_list(out, doc_get(outcome, "endpoints"), limit);
    } else {
        text_addf(out, "%s, %s", field(outcome, "verdict"),
                  field_is(outcome, "reason", "no-endpoints") ? "no endpoints"
                                                              : "no local endpoints");
    }
    if (count_chosen(masqueraded) == 0)
        return;
    text_add(out, ", masqueraded");
    if (count_chosen(masqueraded) < count_chosen(members)) {
        text_add(out, " from ");
        add_names(out, masqueraded);
    }
}

static void add_outcomes(struct text *out, const struct doc *from, size_t limit)
{
    const struct doc *outcomes[SOURCES];
    bool told[SOURCES] = { 0 };
    const char *separator = " ";

    for (int i = 0; i < SOURCES; i++)
        outcomes[i] = doc_get(from, source_names[i]);
    for (int i = 0; i < SOURCES; i++) {
        bool members[SOURCES] = { 0 }, masqueraded[SOURCES] = { 0 };
        if (told[i])
            continue;
        for (int j = i; j < SOURCES; j++) {
            members[j] = !told[j] && same_outcomes(outcomes[i], outcomes[j]);
            masqueraded[j] = members[j] && field_is(outcomes[j], "masquerade", "true");
            told[j] |= members[j];
        }
        text_add(out, separator);
        add_outcome(out, outcomes[i], members, masqueraded, limit);
        separator = "; ";
    }
}

void add_frontend(struct text *out, const struct doc *service, const struct doc *frontend,
                  size_t limit)
{
    const char *address = field(frontend, "address");
    const struct doc *ranges = doc_get(frontend, "sourceRanges");

    text_addf(out, strchr(address, ':') ? "[%s]:%s/%s " : "%s:%s/%s ", address,
              field(frontend, "port"), field(frontend, "protocol"));
    add_clean(out, field(service, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(service, "name"));
    if (*field(frontend, "portName")) {
        text_add_char(out, ':');
        add_clean(out, field(frontend, "portName"));
    }
    text_addf(out, " %s", field(frontend, "kind"));
    if (ranges) {
        text_add(out, " for ");
        add_list(out, ranges, limit);
    }
    if (doc_get(service, "affinitySeconds"))
        text_addf(out, " with affinity %s s", field(service, "affinitySeconds"));
    text_add_char(out, ':');
    add_outcomes(out, doc_get(frontend, "from"), limit);
    text_add_char(out, '\n');
}

static void add_health(struct text *out, const struct doc *service)
{
    const struct doc *health = doc_get(service, "healthCheckNodePort");
    if (!health)
        return;
    text_addf(out, "  health port %s ", field(health, "port"));
    add_clean(out, field(service, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(service, "name"));
    text_addf(out, " IPv%s: %s ready here\n", field(service, "family"),
              field(health, "localReady"));
}

void add_services(struct text *out, const struct doc *nat)
{
    if (!nat || nat->count == 0)
        return;
    text_add(out, "services:\n");
    doc_each(service, nat) {
        doc_each(frontend, doc_get(service, "frontends")) {
            text_add(out, "  ");
            add_frontend(out, service, frontend, SIZE_MAX);
        }
        add_health(out, service);
    }
}
