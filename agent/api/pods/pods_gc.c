// SPDX-License-Identifier: Apache-2.0
/*
 * The CNI verb GC: the runtime says which interfaces of a network are alive, and every other one of
 * that network is freed. A list that can't be read to its end frees nothing.
 *
 * Whose network is not known (its ADD came to an agent that kept none, or the state folder was
 * lost) is freed by no GC: another network may have it. The first list that names it says which.
 */
#include <errno.h>
#include <string.h>

#include "api/body.h"
#include "api/pods/pods_inside.h"
#include "api/reply.h"
#include "base/macro.h"
#include "base/sorted.h"
#include "faults/requests.h"
#include "format/json.h"

/* An agent-cni that is older than this agent names none, and means whatever there is. */
static int read_network(const struct document *body, const char **ret_network,
                        struct faults *faults)
{
    static const char *const members[] = { "live", "network", NULL };
    int r = body_check_members(body, members, faults);
    if (r < 0)
        return r;
    r = pods_read_network(body, ret_network, faults);
    if (r < 0)
        return r;
    if (!**ret_network) {
        fault_raise(faults, "body", request_network_unnamed);
        r = -EBADMSG;
    }
    return r;
}

static int read_live(const struct document *body, struct sorted *live, struct faults *faults)
{
    const struct doc *list = doc_get(body->root, "live");
    if (!list) {
        fault_raise(faults, "body", request_list_missing);
        return -EBADMSG;
    }
    int r = MIN(doc_expect(body, list, DOC_LIST, faults), 0);
    if (r < 0)
        return r;
    doc_each(node, list) {
        const char *container = "", *interface = "";
        struct pod_interface pod_interface;
        r = body_string(body, doc_get(node, "container"), &container, faults);
        if (r < 0)
            return r;
        r = body_string(body, doc_get(node, "interface"), &interface, faults);
        if (r < 0)
            return r;
        /* What can't be a name of ours is none of ours. */
        if (pod_interface_name(container, interface, "default", &pod_interface) < 0)
            continue;
        r = sorted_put(live, &pod_interface);
        if (r < 0)
            return r;
    }
    return 0;
}

static void add_freed(struct json *json, const struct pod_interface *pod_interface)
{
    json_begin_object(json, NULL);
    json_string(json, "container", pod_interface->container);
    json_string(json, "interface", pod_interface->interface);
    json_end_object(json);
}

static int free_others(const struct pods_api_options *options, const char *network,
                       const struct sorted *live, struct json *json)
{
    const struct pod_attachment *attachment;
    for (size_t i = 0; (attachment = options->calls.at(options->context, i));) {
        const struct pod_interface pod_interface = attachment->pod_interface;
        bool is_alive = sorted_find(live, &pod_interface) != NULL;
        if (is_alive && !*attachment->network)
            options->calls.attach(options->context, &pod_interface, network);
        if (is_alive || strcmp(attachment->network, network) != 0) {
            i++;
            continue;
        }
        int r = options->calls.free(options->context, &pod_interface);
        if (r < 0)
            return r;
        add_freed(json, &pod_interface);
    }
    return 0;
}

void pods_api_gc(const struct pods_api_options *options, const struct http_request *request,
                 struct http_reply *reply)
{
    CLEANUP(document_freep) struct document *body = NULL;
    AUTOSORTED struct sorted live = SORTED(struct pod_interface, pod_interface_cmp);
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    const char *network = "";
    int r = body_parse(request, &body, &faults);
    if (r == 0 && !body) {
        reply_error(reply, 400, "a body is needed: network, and live, a list of what is alive");
        return;
    }
    if (r == 0)
        r = read_network(body, &network, &faults);
    if (r == 0)
        r = read_live(body, &live, &faults);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "freed");
    if (r == 0)
        r = free_others(options, network, &live, &json);
    json_end_array(&json);
    json_end_object(&json);
    if (r == -EBADMSG)
        reply_faults(reply, 400, &faults);
    else if (r < 0)
        reply_error(reply, 503, strerror(-r));
    else
        reply_document(reply, 200, &out);
}
