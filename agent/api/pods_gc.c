// SPDX-License-Identifier: Apache-2.0
/*
 * The CNI verb GC: the runtime says which interfaces are alive, and every other one is freed. A
 * list that can't be read to its end frees nothing.
 */
#include <errno.h>
#include <string.h>

#include "api/body.h"
#include "api/pods_inside.h"
#include "api/reply.h"
#include "base/macro.h"
#include "base/sorted.h"
#include "format/json.h"

static int read_live(const struct document *body, struct sorted *live, struct faults *faults)
{
    static const char *const members[] = { "live", NULL };
    const struct doc *list = doc_get(body->root, "live");
    int r = body_check_members(body, members, faults);
    if (r == 0 && !list) {
        faults_add(faults, "body", "", "live is needed: a list of what is alive");
        r = -EBADMSG;
    }
    if (r == 0)
        r = MIN(doc_expect(body, list, DOC_LIST, faults), 0);
    doc_each(node, list) {
        const char *container = "", *interface = "";
        struct tenant tenant;
        if (r == 0)
            r = MIN(body_string(body, doc_get(node, "container"), &container, faults), 0);
        if (r == 0)
            r = MIN(body_string(body, doc_get(node, "interface"), &interface, faults), 0);
        /* What can't be a name of ours is none of ours. */
        if (r == 0 && tenant_name(container, interface, "default", &tenant) == 0)
            r = sorted_put(live, &tenant);
    }
    return r;
}

static void add_freed(struct json *json, const struct tenant *tenant)
{
    json_begin_object(json, NULL);
    json_string(json, "container", tenant->container);
    json_string(json, "interface", tenant->interface);
    json_end_object(json);
}

static int free_others(const struct pods_api_options *options, const struct sorted *live,
                       struct json *json)
{
    const struct pod_stay *stay;
    for (size_t i = 0; (stay = options->calls.at(options->context, i));) {
        const struct tenant tenant = stay->tenant;
        if (sorted_find(live, &tenant)) {
            i++;
            continue;
        }
        int r = options->calls.free(options->context, &tenant);
        if (r < 0)
            return r;
        add_freed(json, &tenant);
    }
    return 0;
}

void pods_api_gc(const struct pods_api_options *options, const struct http_request *request,
                 struct http_reply *reply)
{
    CLEANUP(document_freep) struct document *body = NULL;
    AUTOSORTED struct sorted live = SORTED(struct tenant, tenant_cmp);
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    int r = body_parse(request, &body, &faults);
    if (r == 0 && !body) {
        reply_error(reply, 400, "a body is needed: live, a list of what is alive");
        return;
    }
    if (r == 0)
        r = read_live(body, &live, &faults);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "freed");
    if (r == 0)
        r = free_others(options, &live, &json);
    json_end_array(&json);
    json_end_object(&json);
    if (r == -EBADMSG)
        reply_faults(reply, 400, &faults);
    else if (r < 0)
        reply_error(reply, 503, strerror(-r));
    else
        reply_document(reply, 200, &out);
}
