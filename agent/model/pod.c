// SPDX-License-Identifier: Apache-2.0
/*
 * Pods and Namespaces: from a document, compared, and written back. A pod without `status` has not
 * been started yet and simply has no addresses.
 *
 * A pod's annotations say by which Egresses it leaves the cluster. What can't be the name of one is
 * a warning, and is remembered: as with an Egress that does not exist, the pod's packets must not
 * leave by another way than the one that was meant.
 */
#include "model/pod.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/quote.h"
#include "model/fields/decode.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/fields/labels.h"
#include "model/kind.h"

#define EGRESS_PREFIX "egress.coil.cybozu.com/"

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

int egress_ref_cmp(const void *a, const void *b)
{
    const struct egress_ref *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

/* The namespace that an annotation's key is about; NULL: it is another annotation. */
static const char *egress_namespace(const struct doc *annotation)
{
    size_t length = strlen(EGRESS_PREFIX);
    return strncmp(annotation->key, EGRESS_PREFIX, length) == 0 ? annotation->key + length : NULL;
}

/* NULL where they are no map: then their keys are NULL, and the metadata's decoder reports it. */
static const struct doc *annotations_of(const struct doc *root)
{
    const struct doc *annotations = doc_get(doc_get(root, "metadata"), "annotations");
    return annotations && annotations->type == DOC_MAP ? annotations : NULL;
}

/* At least as many as are named. */
static size_t most_egresses(const struct doc *root)
{
    size_t count = 0;
    doc_each(annotation, annotations_of(root)) {
        if (!egress_namespace(annotation) || annotation->type != DOC_SCALAR)
            continue;
        count++;
        for (const char *c = annotation->text; *c; c++)
            count += *c == ',';
    }
    return MIN(count, (size_t)POD_EGRESSES_MAX);
}

/* What an annotation says where it asks for an Egress that can't be. */
static const char *refused_egress(const struct doc *node, struct pod *pod,
                                  char quoted[static QUOTE_LEN])
{
    pod->bad_egress = true;
    return quote(node->type == DOC_SCALAR ? node->text : "", quoted);
}

/* The name between two commas, without blanks around it. */
static void decode_egress_name(struct decoder *decoder, const struct doc *node,
                               const char *namespace, const char *name, size_t length,
                               struct pod *pod, struct egress_ref *refs)
{
    char quoted[QUOTE_LEN];
    for (; length > 0 && isspace((unsigned char)*name); length--)
        name++;
    while (length > 0 && isspace((unsigned char)name[length - 1]))
        length--;
    if (!decode_is_name(name, length))
        decode_warning(decoder, node, pod_egress_name_wrong,
                       .name = refused_egress(node, pod, quoted));
    else if (pod->egress_count == POD_EGRESSES_MAX)
        decode_warning(decoder, node, pod_egresses_too_many,
                       .name = refused_egress(node, pod, quoted));
    else
        refs[pod->egress_count++] =
            (struct egress_ref){ namespace, decode_keep_part(decoder, name, length) };
}

static void decode_egress_names(struct decoder *decoder, const struct doc *node, struct pod *pod,
                                struct egress_ref *refs)
{
    const char *list = decode_text(decoder, node), *namespace = egress_namespace(node);
    char quoted[QUOTE_LEN];
    if (!list || !decode_is_namespace(namespace, strlen(namespace))) {
        decode_warning(decoder, node, pod_egress_namespace_wrong,
                       .name = refused_egress(node, pod, quoted));
        return;
    }
    namespace = decode_keep(decoder, namespace);
    for (;;) {
        size_t length = strcspn(list, ",");
        decode_egress_name(decoder, node, namespace, list, length, pod, refs);
        if (!list[length])
            return;
        list += length + 1;
    }
}

static void decode_egresses(struct decoder *decoder, const struct doc *root, struct pod *pod)
{
    struct egress_ref *refs = decode_alloc(decoder, most_egresses(root), sizeof(*refs));
    if (decoder->no_memory)
        return;
    doc_each(annotation, annotations_of(root)) {
        if (!egress_namespace(annotation))
            continue;
        decode_egress_names(decoder, annotation, pod, refs);
        if (pod->host_network)
            decode_warning(decoder, annotation, pod_egress_of_host);
    }
    if (pod->egress_count == 0)
        return;
    qsort(refs, pod->egress_count, sizeof(*refs), egress_ref_cmp);
    pod->egress_count =
        (uint32_t)vec_drop_equal_raw(refs, pod->egress_count, sizeof(*refs), egress_ref_cmp);
    pod->egresses = refs;
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
    decode_egresses(decoder, root, pod);
}

static bool egresses_equal(const struct pod *left, const struct pod *right)
{
    if (left->egress_count != right->egress_count || left->bad_egress != right->bad_egress)
        return false;
    for (uint32_t i = 0; i < left->egress_count; i++) {
        if (egress_ref_cmp(&left->egresses[i], &right->egresses[i]) != 0)
            return false;
    }
    return true;
}

static bool pod_equal(const struct object *a, const struct object *b)
{
    const struct pod *left = to_pod(a), *right = to_pod(b);
    return text_equal(left->node_name, right->node_name) &&
           left->host_network == right->host_network && left->finished == right->finished &&
           ips_equal(left->ips, left->ip_count, right->ips, right->ip_count) &&
           egresses_equal(left, right);
}

/* What can't be an Egress's name is not kept, but read back as the same: an annotation for no
 * namespace. */
static void encode_annotations(const struct object *object, struct json *json)
{
    const struct pod *pod = to_pod(object);
    if (pod->egress_count == 0 && !pod->bad_egress)
        return;
    json_begin_object(json, "annotations");
    if (pod->bad_egress)
        json_string(json, EGRESS_PREFIX, "");
    for (uint32_t i = 0; i < pod->egress_count;) {
        const char *namespace = pod->egresses[i].namespace;
        AUTOTEXT struct text key = { 0 }, names = { 0 };
        text_addf(&key, EGRESS_PREFIX "%s", namespace);
        for (const char *comma = "";
             i < pod->egress_count && strcmp(pod->egresses[i].namespace, namespace) == 0; i++) {
            text_addf(&names, "%s%s", comma, pod->egresses[i].name);
            comma = ",";
        }
        json_string(json, text_str(&key), text_str(&names));
        json->out->failed |= key.failed || names.failed;
    }
    json_end_object(json);
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
    .encode_metadata = encode_annotations,
    .encode_rest = encode_pod,
};

static void decode_namespace(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct namespace *namespace = (struct namespace *)object;
    const char *pool = decode_text(decoder, decode_annotation(decoder, "coil.cybozu.com/pool"));
    (void)root;
    namespace->pool = decode_keep(decoder, pool ? pool : "default");
    namespace->labels = decode_labels(decoder, &namespace->label_count);
}

static bool namespace_equal(const struct object *a, const struct object *b)
{
    const struct namespace *left = to_namespace(a), *right = to_namespace(b);
    return text_equal(left->pool, right->pool) &&
           labels_equal(left->labels, left->label_count, right->labels, right->label_count);
}

static void encode_namespace(const struct object *object, struct json *json)
{
    const struct namespace *namespace = to_namespace(object);
    json_begin_object(json, "labels");
    encode_labels(json, namespace->labels, namespace->label_count);
    json_end_object(json);
    json_begin_object(json, "annotations");
    json_string(json, "coil.cybozu.com/pool", namespace->pool);
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
