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
#include "model/fields/equal.h"
#include "model/fields/labels.h"
#include "model/kind.h"

#define EGRESS_PREFIX "egress.coil.cybozu.com/"

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
    decode_egresses(decoder, root, (struct pod *)object);
}

static EQUAL_FIELD(egresses_equal)
{
    const struct pod *left = a, *right = b;
    if (left->egress_count != right->egress_count || left->bad_egress != right->bad_egress)
        return false;
    for (uint32_t i = 0; i < left->egress_count; i++) {
        if (egress_ref_cmp(&left->egresses[i], &right->egresses[i]) != 0)
            return false;
    }
    return true;
}

/* What can't be an Egress's name is not kept, but read back as the same: an annotation for no
 * namespace. */
static ENCODE_FIELD(encode_egresses)
{
    const struct pod *pod = base;
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
}

/* They are read when it is known whether the pod is in the host's network. */
static const struct field_type egresses_type = { NULL, egresses_equal, encode_egresses };

static DECODE_FIELD(decode_phase, node)
{
    const char *phase = decode_text(decoder, node);
    *(bool *)field_member(field, base) =
        text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
    return true;
}

static ENCODE_FIELD(encode_phase)
{
    if (to_pod(base)->finished)
        json_string(json, field->key, "Succeeded");
}

static const struct field_type phase_type = { decode_phase, field_numbers_equal, encode_phase };

static const struct field annotations[] = { { NULL, &egresses_type }, END(NULL) };

static const struct field spec[] = {
    { "nodeName", &field_text, MEMBER(struct pod, node_name) },
    { "hostNetwork", &field_flag, MEMBER(struct pod, host_network) },
    END("nodeSelector hostname hostnameOverride hostPID hostIPC hostUsers hostAliases"),
};

/* What is wrong with the rest is reported even where it is missing. */
static DECODE_FIELD(decode_spec, node)
{
    (void)field_map.decode(decoder, node, field, base);
    return true;
}

static const struct field pod_ip_fields[] = { { "ip", &field_ip }, END(NULL) };

static const struct field status[] = {
    { "phase", &phase_type, MEMBER(struct pod, finished) },
    { "podIPs", &field_list, ITEMS(struct pod, ips, ip_count), .fields = pod_ip_fields },
    END("podIP hostIP hostIPs reason message"),
};

static const struct field pod_fields[] = {
    { "spec", &field_map, .fields = spec, .required = true, .decode = decode_spec },
    { "status", &field_map, .fields = status },
    END("apiVersion kind metadata"),
};

const struct kind_row pod_kind = {
    .api_version = "v1",
    .name = "Pod",
    .namespaced = true,
    .size = sizeof(struct pod),
    .annotations = annotations,
    .fields = pod_fields,
    .decode = decode_pod,
};

static DECODE_FIELD(decode_pool, node)
{
    const char *pool = decode_text(decoder, node);
    *(const char **)field_member(field, base) = decode_keep(decoder, pool ? pool : "default");
    return true;
}

static const struct field namespace_labels[] = {
    { NULL, &field_labels, ITEMS(struct namespace, labels, label_count) },
    END(NULL),
};

static const struct field namespace_annotations[] = {
    { "coil.cybozu.com/pool", &field_text, MEMBER(struct namespace, pool), .decode = decode_pool,
      .written = true },
    END(NULL),
};

const struct kind_row namespace_kind = {
    .api_version = "v1",
    .name = "Namespace",
    .size = sizeof(struct namespace),
    .labels = namespace_labels,
    .annotations = namespace_annotations,
};
