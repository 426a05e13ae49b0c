// SPDX-License-Identifier: Apache-2.0
/*
 * What requests of agent-cni say: by their path whose interface is meant, by their body whose pod
 * that is, which addresses another plugin gave it, and which is the node's end. Whatever is odd is
 * a fault at its place; nothing is done here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/body.h"
#include "api/pods/pods_inside.h"
#include "base/macro.h"
#include "faults/requests.h"

static const char pods_path[] = "/v1/pods/";

bool pods_read_path(const char *path, struct pod_interface *ret_pod_interface, bool *ret_wired)
{
    static const char wired[] = "/wired";
    AUTOFREE char *copy = strdup(path + strlen(pods_path));
    char *interface = copy ? strchr(copy, '/') : NULL;
    if (!interface)
        return false;
    *interface++ = '\0';
    char *rest = strchr(interface, '/');
    *ret_wired = rest && strcmp(rest, wired) == 0;
    if (rest && !*ret_wired)
        return false;
    if (rest)
        *rest = '\0';
    return pod_interface_name(copy, interface, "default", ret_pod_interface) == 0;
}

/* A text of the body; "" where it is absent. */
static int read_text(const struct document *body, const char *member, const char **ret,
                     struct faults *faults)
{
    *ret = "";
    return MIN(body_line(body, member, POD_INTERFACE_NAME_MAX, ret, faults), 0);
}

/* It is written into the state file, a line for a pod. */
int pods_read_network(const struct document *body, const char **ret_network, struct faults *faults)
{
    int r = read_text(body, "network", ret_network, faults);
    if (r < 0)
        return r;
    if (strpbrk(*ret_network, " \t\r\n")) {
        doc_raise(body, doc_get(body->root, "network"), faults, request_network_wrong);
        r = -EBADMSG;
    }
    return r;
}

/* The first of each family, as a Pod's status has them. */
static int read_address(const struct document *body, const struct doc *node,
                        struct pod_request *wanted, struct faults *faults)
{
    const char *text = "";
    struct ip ip;
    int r = MIN(body_string(body, node, &text, faults), 0);
    if (r < 0)
        return r;
    if (ip_parse(text, &ip) < 0 || ip_is_special(&ip)) {
        doc_raise(body, node, faults, document_value_unexpected,
                  .expected = "the address of a pod");
        r = -EBADMSG;
    }
    if (r < 0)
        return r;
    struct ip *own = ip.family == IP_V4 ? &wanted->v4 : &wanted->v6;
    if (own->family == IP_NONE)
        *own = ip;
    return 0;
}

static int read_addresses(const struct document *body, struct pod_request *wanted,
                          struct faults *faults)
{
    const struct doc *list = doc_get(body->root, "addresses");
    int r = MIN(doc_expect(body, list, DOC_LIST, faults), 0);
    doc_each(node, list)
        r = r == 0 ? read_address(body, node, wanted, faults) : r;
    if (r == 0 && wanted->v4.family == IP_NONE && wanted->v6.family == IP_NONE) {
        fault_raise(faults, "body", request_addresses_missing);
        r = -EBADMSG;
    }
    return r;
}

int pods_read_request(const struct document *body, struct pod_request *wanted,
                      struct faults *faults)
{
    static const char *const members[] = { "namespace",  "name",      "uid",     "sandbox",
                                           "egressOnly", "addresses", "network", NULL };
    int r = body ? body_check_members(body, members, faults) : 0;
    if (r < 0)
        return r;
    r = read_text(body, "namespace", &wanted->namespace, faults);
    if (r < 0)
        return r;
    r = read_text(body, "name", &wanted->name, faults);
    if (r < 0)
        return r;
    r = read_text(body, "uid", &wanted->uid, faults);
    if (r < 0)
        return r;
    r = pods_read_network(body, &wanted->network, faults);
    if (r < 0)
        return r;
    r = MIN(doc_bool(body, doc_get(body->root, "egressOnly"), &wanted->egress_only, faults), 0);
    if (r < 0)
        return r;
    if (wanted->egress_only)
        r = read_addresses(body, wanted, faults);
    if (r < 0)
        return r;
    if (!*wanted->namespace || !*wanted->name) {
        fault_raise(faults, "body", request_pod_unnamed);
        r = -EBADMSG;
    }
    return r;
}

int pods_read_index(const struct http_request *request, uint32_t *ret_ifindex,
                    struct faults *faults)
{
    CLEANUP(document_freep) struct document *body = NULL;
    int64_t index = 0;
    int r = body_parse(request, &body, faults);
    if (r == 0 && body)
        r = MIN(doc_int(body, doc_get(body->root, "hostIndex"), 1, INT32_MAX, &index, faults), 0);
    *ret_ifindex = (uint32_t)index;
    return r;
}
