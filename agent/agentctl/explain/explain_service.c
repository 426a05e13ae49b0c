// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl explain NAMESPACE/SERVICE`: which addresses the Service names, then of each one what
 * `agentctl explain ADDRESS` says, for there is one judgement; called by verb_explain.c. ClusterIPs
 * are left to the list unless there is nothing else. The worst of their exit statuses counts. With
 * --json it is the documents of the addresses, one behind the other.
 */
#include "agentctl/explain/explain_service.h"

#include <stdio.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/explain/explain_pools.h"
#include "agentctl/field.h"
#include "agentctl/output.h"

bool is_object_name(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = strspn(word, letters);
    return length > 0 && word[length] == '/' && word[length + 1] &&
           word[length + 1 + strspn(word + length + 1, letters)] == '\0';
}

static const struct doc *find_service(const struct doc *items, const char *word)
{
    size_t length = strcspn(word, "/");
    doc_each(item, items) {
        const char *namespace = field(item, "namespace");
        if (strlen(namespace) == length && strncmp(namespace, word, length) == 0 &&
            field_is(item, "name", word + length + 1))
            return item;
    }
    return NULL;
}

static bool is_internal(const struct doc *address)
{
    return field_is(address, "origin", "clusterIP");
}

/* What is told at length: the addresses that the world asks, else all of them. */
static bool has_external(const struct doc *service)
{
    doc_each(address, doc_get(service, "addresses")) {
        if (!is_internal(address))
            return true;
    }
    return false;
}

static int print_service(const char *word, const struct doc *service)
{
    AUTOTEXT struct text out = { 0 };
    add_clean(&out, word);
    text_addf(&out, " is a Service of type %s", field(service, "type"));
    const char *between = ": ";
    doc_each(address, doc_get(service, "addresses")) {
        text_add(&out, between);
        add_clean(&out, field(address, "address"));
        text_addf(&out, " (%s)", field(address, "origin"));
        between = ", ";
    }
    text_add_char(&out, '\n');
    bool told = false;
    doc_each(lack, doc_get(service, "pending")) {
        text_add(&out, "  -> it is ");
        add_pending(&out, lack);
        text_add_char(&out, '\n');
        told = true;
    }
    if (!told && field_is(service, "type", "LoadBalancer") && !has_external(service))
        text_add(&out,
                 "  -> it waits for an address: status.loadBalancer.ingress has none that can be "
                 "used\n"
                 "     why, who gives it says: agentctl controller, and the Service's condition "
                 "fingerpost.io/AddressAssigned\n");
    return print_lines(&out, EXIT_OK);
}

int explain_service(const struct ctl *ctl, const char *word,
                    int (*explain)(const struct ctl *ctl, char **args),
                    int (*otherwise)(const struct ctl *ctl, const char *word))
{
    AUTOANSWER struct answer answer = { 0 };
    int r = answer_get(ctl, "/v1/services", &answer);
    if (r != EXIT_OK)
        return r;
    const struct doc *service = find_service(doc_get(answer.root, "items"), word);
    if (!service)
        return otherwise(ctl, word);
    r = ctl->json ? EXIT_OK : print_service(word, service);
    bool external = has_external(service);
    doc_each(address, doc_get(service, "addresses")) {
        char *args[] = { (char *)field(address, "address"), NULL };
        if (r > EXIT_DIFFERS)
            return r;
        if (external && is_internal(address))
            continue;
        if (!ctl->json)
            puts("");
        int one = explain(ctl, args);
        r = MAX(r, one);
    }
    return r;
}
