// SPDX-License-Identifier: Apache-2.0
/*
 * Decodes agentd's plan for a pod; see plan.h and docs/api.md.
 *
 * agentd is trusted with what it decides. But a document of another form than this one comes from
 * another version of it, and what is not understood must not be half done as root.
 */
#include "cni/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "format/reader.h"

static int is_wrong(const struct document *document, const struct doc *node, struct faults *faults,
                    const char *wanted)
{
    doc_raise(document, node, faults, document_part_wanted, .part = wanted);
    return -EBADMSG;
}

static int want_string(const struct document *document, const char *key, const char **ret,
                       struct faults *faults)
{
    const struct doc *node = doc_get(document->root, key);
    int r = doc_string(document, node, ret, faults);
    return r == 0 ? is_wrong(document, document->root, faults, key) : r;
}

static bool is_link_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < 16 && !strpbrk(name, "/: .") && name[0] != '-';
}

static int decode_names(struct plan *plan, struct faults *faults)
{
    const struct document *document = plan->document;
    if (want_string(document, "interface", &plan->interface, faults) < 0 ||
        want_string(document, "hostInterface", &plan->host_interface, faults) < 0 ||
        want_string(document, "alias", &plan->alias, faults) < 0)
        return -EBADMSG;
    if (!is_link_name(plan->host_interface))
        return is_wrong(document, doc_get(document->root, "hostInterface"), faults,
                        "the name of a link, without \".\"");
    if (!*plan->alias || strlen(plan->alias) > 255)
        return is_wrong(document, doc_get(document->root, "alias"), faults,
                        "an alias of 1 to 255 bytes");
    return 0;
}

static int decode_mac(struct plan *plan, struct faults *faults)
{
    const struct doc *node = doc_get(plan->document->root, "hostMAC");
    const char *text = NULL;
    unsigned m[6];
    char more;
    int r = doc_string(plan->document, node, &text, faults);
    if (r <= 0)
        return r;
    if (strlen(text) != 17 || sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &m[0], &m[1], &m[2], &m[3],
                                     &m[4], &m[5], &more) != 6)
        return is_wrong(plan->document, node, faults, "an Ethernet address");
    for (size_t i = 0; i < sizeof(plan->host_mac); i++)
        plan->host_mac[i] = (uint8_t)m[i];
    plan->has_host_mac = true;
    return 0;
}

static int decode_mtu(struct plan *plan, struct faults *faults)
{
    int64_t mtu = 0;
    if (doc_int(plan->document, doc_get(plan->document->root, "mtu"), 0, 65535, &mtu, faults) < 0)
        return -EBADMSG;
    plan->mtu = (uint32_t)mtu;
    return 0;
}

/* A list (or map) of the document that is not longer than it may be; NULL in *ret: there is none.
 */
static int decode_list(const struct document *document, const char *key, enum doc_type type,
                       const struct doc **ret, struct faults *faults)
{
    const struct doc *list = doc_get(document->root, key);
    int r = doc_expect(document, list, type, faults);
    if (r < 0)
        return r;
    if (r > 0 && list->count > PLAN_LIST_MAX)
        return is_wrong(document, list, faults, "a list of at most 256");
    *ret = r > 0 ? list : NULL;
    return 0;
}

static int decode_addresses(struct plan *plan, struct faults *faults)
{
    const struct doc *list = NULL;
    int r = decode_list(plan->document, "addresses", DOC_LIST, &list, faults);
    doc_each(it, list) {
        struct prefix address = { 0 };
        const char *text = "";
        if (r < 0 || doc_string(plan->document, it, &text, faults) < 0)
            return -EBADMSG;
        if (prefix_parse(text, &address) != 0)
            return is_wrong(plan->document, it, faults, "an address and its length, /32 or /128,");
        r = vec_push(&plan->addresses, address);
    }
    return r;
}

static int decode_gateways(struct plan *plan, struct faults *faults)
{
    const struct doc *list = NULL;
    int r = decode_list(plan->document, "gateways", DOC_LIST, &list, faults);
    doc_each(it, list) {
        struct ip gateway = { 0 };
        const char *text = "";
        if (r < 0 || doc_string(plan->document, it, &text, faults) < 0)
            return -EBADMSG;
        if (ip_parse(text, &gateway) < 0)
            return is_wrong(plan->document, it, faults, "an address");
        r = vec_push(&plan->gateways, gateway);
    }
    return r;
}

static int decode_routes(struct plan *plan, struct faults *faults)
{
    const struct doc *list = NULL;
    int r = decode_list(plan->document, "routes", DOC_LIST, &list, faults);
    doc_each(it, list) {
        struct plan_route route = { 0 };
        const char *to = "", *via = "";
        if (r < 0 || doc_string(plan->document, doc_get(it, "to"), &to, faults) < 0 ||
            doc_string(plan->document, doc_get(it, "via"), &via, faults) < 0)
            return -EBADMSG;
        if (prefix_parse(to, &route.to) != 0 || ip_parse(via, &route.via) < 0 ||
            route.to.ip.family != route.via.family)
            return is_wrong(plan->document, it, faults,
                            "a prefix \"to\" and an address \"via\" of its family");
        r = vec_push(&plan->routes, route);
    }
    return r;
}

/* Names as sysctl(8) has them, of the network only; dots stand between their parts. */
static bool is_sysctl(const char *name)
{
    if (strncmp(name, "net.ipv4.", 9) != 0 && strncmp(name, "net.ipv6.", 9) != 0)
        return false;
    return strlen(name) < 128 && !strstr(name, "..") && name[strlen(name) - 1] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               strlen(name);
}

static int decode_sysctls(struct plan *plan, struct faults *faults)
{
    const struct doc *map = NULL;
    int r = decode_list(plan->document, "sysctls", DOC_MAP, &map, faults);
    doc_each(it, map) {
        struct plan_sysctl sysctl = { .name = it->key, .value = "" };
        if (r < 0 || doc_string(plan->document, it, &sysctl.value, faults) < 0)
            return -EBADMSG;
        if (!is_sysctl(it->key) || !*sysctl.value || strlen(sysctl.value) > 10 ||
            strspn(sysctl.value, "0123456789") != strlen(sysctl.value))
            return is_wrong(plan->document, it, faults,
                            "a sysctl of net.ipv4 or net.ipv6 with a number");
        r = vec_push(&plan->sysctls, sysctl);
    }
    return r;
}

static int decode(struct plan *plan, struct faults *faults)
{
    static int (*const parts[])(struct plan *, struct faults *) = {
        decode_names,    decode_mac,    decode_mtu,     decode_addresses,
        decode_gateways, decode_routes, decode_sysctls,
    };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        int r = parts[i](plan, faults);
        if (r < 0)
            return r;
    }
    if (plan->addresses.count == 0)
        return is_wrong(plan->document, plan->document->root, faults, "an address");
    return 0;
}

int plan_decode(const char *document, size_t size, struct plan *ret_plan, struct cni_error *error)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(plan_done) struct plan plan = { 0 };
    int r = document_parse(document, size, "agentd's plan", READER_JSON, &plan.document, &faults);
    if (r > 0)
        r = decode(&plan, &faults);
    else if (r == 0)
        r = -EBADMSG;
    if (r == 0) {
        *ret_plan = TAKE_STRUCT(plan);
        return 0;
    }
    const struct fault *fault = faults.list.count ? &faults.list.items[0] : NULL;
    return cni_fail(error, CNI_INTERNAL, "install agentd and agent-cni from one package", "%s: %s",
                    fault ? fault->place : "agentd's plan",
                    fault ? fault->message : "it is empty, or memory is short");
}

void plan_done(struct plan *plan)
{
    vec_done(&plan->addresses);
    vec_done(&plan->gateways);
    vec_done(&plan->routes);
    vec_done(&plan->sysctls);
    document_free(plan->document);
    *plan = (struct plan){ 0 };
}
