// SPDX-License-Identifier: Apache-2.0
/*
 * Pods and Namespaces: from a document, compared, and written back. A pod without `status` has not
 * been started yet and simply has no addresses.
 */
#include "model/pod.h"

#include "model/decode.h"
#include "model/encode_member.h"
#include "model/equal.h"
#include "model/kind.h"

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

static void decode_pod(struct decoder *decoder, const struct doc *root, struct object *object)
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

static bool pod_equal(const struct object *a, const struct object *b)
{
    const struct pod *left = to_pod(a), *right = to_pod(b);
    return text_equal(left->node_name, right->node_name) &&
           left->host_network == right->host_network && left->finished == right->finished &&
           ips_equal(left->ips, left->ip_count, right->ips, right->ip_count);
}

static void encode_pod(const struct object *object, struct json *json)
{
    const struct pod *pod = to_pod(object);
    json_begin_object(json, "spec");
    encode_text(json, "nodeName", pod->node_name);
    encode_flag(json, "hostNetwork", pod->host_network);
    json_end_object(json);
    json_begin_object(json, "status");
    if (pod->finished)
        json_string(json, "phase", "Succeeded");
    json_begin_array(json, "podIPs");
    for (uint32_t i = 0; i < pod->ip_count; i++) {
        json_begin_object(json, NULL);
        encode_ip(json, "ip", &pod->ips[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

const struct kind_row pod_kind = {
    .api_version = "v1",
    .name = "Pod",
    .namespaced = true,
    .size = sizeof(struct pod),
    .decode = decode_pod,
    .equal = pod_equal,
    .encode_rest = encode_pod,
};

static void decode_namespace(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct namespace *namespace = (struct namespace *)object;
    const char *pool = decode_text(decoder, decode_annotation(decoder, "coil.cybozu.com/pool"));
    (void)root;
    namespace->pool = decode_keep(decoder, pool ? pool : "default");
}

static bool namespace_equal(const struct object *a, const struct object *b)
{
    return text_equal(to_namespace(a)->pool, to_namespace(b)->pool);
}

static void encode_namespace(const struct object *object, struct json *json)
{
    json_begin_object(json, "annotations");
    json_string(json, "coil.cybozu.com/pool", to_namespace(object)->pool);
    json_end_object(json);
}

const struct kind_row namespace_kind = {
    .api_version = "v1",
    .name = "Namespace",
    .size = sizeof(struct namespace),
    .decode = decode_namespace,
    .equal = namespace_equal,
    .encode_metadata = encode_namespace,
};
