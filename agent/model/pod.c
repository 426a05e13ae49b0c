// SPDX-License-Identifier: Apache-2.0
/*
 * Pods and Namespaces: from a document, and compared. A pod without `status` has not been started
 * yet and simply has no addresses.
 */
#include "model/pod.h"

#include "model/decode.h"
#include "model/equal.h"

static void decode_ips(struct decoder *decoder, const struct doc *status, struct pod *pod)
{
    const struct doc *list = decode_list(decoder, doc_get(status, "podIPs"));
    struct ip *ips = decode_alloc(decoder, list ? list->count : 0, sizeof(*ips));
    if (!ips)
        return;
    pod->ips = ips;
    doc_each(entry, list) {
        if (decode_map(decoder, entry) &&
            decode_ip(decoder, doc_get(entry, "ip"), &ips[pod->ip_count]))
            pod->ip_count++;
    }
}

void pod_decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct pod *pod = (struct pod *)object;
    const struct doc *spec = decode_map(decoder, decode_need(decoder, root, "spec"));
    const struct doc *status = decode_map(decoder, doc_get(root, "status"));
    const char *phase = decode_text(decoder, doc_get(status, "phase"));
    pod->node_name = decode_string(decoder, doc_get(spec, "nodeName"));
    pod->host_network = decode_bool(decoder, doc_get(spec, "hostNetwork"), false);
    pod->finished = text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
    decode_ips(decoder, status, pod);
}

bool pod_equal(const struct object *a, const struct object *b)
{
    const struct pod *left = to_pod(a), *right = to_pod(b);
    return text_equal(left->node_name, right->node_name) &&
           left->host_network == right->host_network && left->finished == right->finished &&
           ips_equal(left->ips, left->ip_count, right->ips, right->ip_count);
}

void namespace_decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct namespace *namespace = (struct namespace *)object;
    const char *pool = decode_text(decoder, decode_annotation(decoder, "coil.cybozu.com/pool"));
    (void)root;
    namespace->pool = decode_keep(decoder, pool ? pool : "default");
}

bool namespace_equal(const struct object *a, const struct object *b)
{
    return text_equal(to_namespace(a)->pool, to_namespace(b)->pool);
}
