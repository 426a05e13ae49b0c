// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of what is explained; see explain_faults.h. Called by verb_explain.c. The agent has judged
 * already, and status tells it: explain must not know less, nor guess another cause.
 */
#include "agentctl/explain/explain_faults.h"

#include <errno.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"

enum { FAULTS_SHOWN = 8 }; /* without -v */

/* Faults that are told of, and how many were. */
struct telling {
    struct text *out;
    const struct ctl *ctl;
    const struct doc *faults;
    size_t told, left;
};

static void tell(struct telling *telling, const struct doc *fault, bool placed)
{
    if (!telling->ctl->verbose && telling->told == FAULTS_SHOWN) {
        telling->left++;
        return;
    }
    telling->told++;
    text_add(telling->out, "  fault     ");
    if (!placed) {
        add_clean(telling->out, field(fault, "place"));
        text_add(telling->out, ": ");
    }
    add_clean(telling->out, field(fault, "message"));
    text_add_char(telling->out, '\n');
    const struct doc *remedy = doc_get(fault, "remedy");
    if (!remedy || remedy->type == DOC_NULL)
        return;
    text_add(telling->out, "            -> ");
    add_clean(telling->out, field(fault, "remedy"));
    text_add_char(telling->out, '\n');
}

static void tell_of(struct telling *telling, const char *place)
{
    doc_each(fault, telling->faults) {
        if (field_is(fault, "place", place))
            tell(telling, fault, true);
    }
}

/* "10.0.0.1/32 table 119": of the tables of ours that have it. */
static void tell_of_route(struct telling *telling, const struct doc *route)
{
    AUTOFREE char *slot = route ? text_format("%s table ", field(route, "prefix")) : NULL;
    doc_each(fault, slot ? telling->faults : NULL) {
        if (strncmp(field(fault, "place"), slot, strlen(slot)) == 0)
            tell(telling, fault, true);
    }
}

static void tell_of_item(struct telling *telling, const char *kind, const struct doc *item)
{
    const bool spaced = doc_get(item, "namespace");
    AUTOFREE char *place = text_format("%s %s%s%s", kind, spaced ? field(item, "namespace") : "",
                                       spaced ? "/" : "", field(item, "name"));
    if (place && item)
        tell_of(telling, place);
}

/* Also at an Egress that the pod waits for: the agent knows which are the pod's. */
static void tell_of_pod(struct telling *telling, const struct doc *pod)
{
    AUTOFREE char *place = text_format("Pod %s/%s", field(pod, "namespace"), field(pod, "name"));
    doc_each(fault, doc_get(pod, "faults"))
        tell(telling, fault, place && field_is(fault, "place", place));
}

static void end(const struct telling *telling)
{
    if (telling->left)
        text_addf(telling->out, "            %zu more (-v shows all)\n", telling->left);
}

static const struct doc *get_faults(const struct ctl *ctl, struct answer *answer)
{
    if (answer_try(ctl, "/v1/faults", ctl->timeout_ms, NULL, answer) < 0)
        return NULL;
    return doc_get(answer->root, "items");
}

bool add_host_faults(struct text *out, const struct ctl *ctl, const struct doc *document)
{
    struct telling telling = { .out = out, .ctl = ctl };
    doc_each(fault, doc_get(document, "hostFaults"))
        tell(&telling, fault, false);
    end(&telling);
    return telling.told > 0;
}

bool add_explained_faults(struct text *out, const struct ctl *ctl, const struct doc *explained)
{
    AUTOANSWER struct answer answer = { 0 };
    struct telling telling = { .out = out, .ctl = ctl, .faults = get_faults(ctl, &answer) };
    const struct doc *holder = doc_get(explained, "holder");
    doc_each(fault, doc_get(explained, "hostFaults"))
        tell(&telling, fault, false);
    tell_of(&telling, field(explained, "address"));
    tell_of_route(&telling, doc_get(explained, "route"));
    doc_each(service, doc_get(explained, "services"))
        tell_of_item(&telling, "Service", service);
    tell_of_item(&telling, "AddressBlock", doc_get(explained, "block"));
    tell_of_item(&telling, "Node", doc_get(holder, "node"));
    doc_each(pod, doc_get(holder, "pods"))
        tell_of_pod(&telling, pod);
    end(&telling);
    return telling.told > 0;
}

bool is_unknown(const struct ctl *ctl, const char *path)
{
    AUTOANSWER struct answer answer = { 0 };
    long status = 0;
    return answer_try(ctl, path, ctl->timeout_ms, &status, &answer) == -EREMOTEIO && status == 404;
}

/* "KIND NAME" */
static bool is_of(const char *place, const char *name)
{
    const char *blank = strchr(place, ' ');
    return blank && strcmp(blank + 1, name) == 0;
}

bool add_named_faults(struct text *out, const struct ctl *ctl, const char *name)
{
    AUTOANSWER struct answer answer = { 0 };
    struct telling telling = { .out = out, .ctl = ctl, .faults = get_faults(ctl, &answer) };
    const char *between = "";
    doc_each(fault, telling.faults) {
        if (!is_of(field(fault, "place"), name))
            continue;
        if (telling.told == 0 || !field_is(fault, "place", between)) {
            between = field(fault, "place");
            add_clean(out, between);
            text_add(out, " is not in order\n");
        }
        tell(&telling, fault, true);
    }
    end(&telling);
    return telling.told > 0;
}
