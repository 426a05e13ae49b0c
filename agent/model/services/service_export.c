// SPDX-License-Identifier: Apache-2.0
/*
 * Annotations about export as one array of texts; see service_export.h. The table below is all that
 * knows their names.
 */
#include "model/services/service_export.h"

#include "model/fields/equal.h"
#include "model/fields/field.h"
#include "model/services/service.h"

#define EXPORTER "kube-service-exporter.github.com/"

static const char *const names[EXPORT_ANNOTATIONS] = {
    [EXPORT_EXPORTED] = EXPORTER "exported",
    [EXPORT_DNS_NAME] = EXPORTER "load-balancer-dns-name",
    [EXPORT_PROXY_PROTOCOL] = EXPORTER "load-balancer-proxy-protocol",
    [EXPORT_CLASS] = EXPORTER "load-balancer-class",
    [EXPORT_BACKEND_PROTOCOL] = EXPORTER "load-balancer-backend-protocol",
    [EXPORT_LISTEN_PORT] = EXPORTER "load-balancer-listen-port",
    [EXPORT_HEALTH_PATH] = EXPORTER "load-balancer-health-check-path",
    [EXPORT_HEALTH_PORT] = EXPORTER "load-balancer-health-check-port",
    [EXPORT_PER_CLUSTER] = EXPORTER "load-balancer-service-per-cluster",
    [EXPORT_CUSTOM_ATTRS] = EXPORTER "custom-attrs",
    [EXPORT_ID_PREFIX] = EXPORTER "id-prefix",
    [EXPORT_INGRESS_NAMESPACE] = EXPORTER "ingress-service-namespace",
    [EXPORT_INGRESS_NAME] = EXPORTER "ingress-service-name",
    [EXPORT_INGRESS_PORT] = EXPORTER "ingress-service-port-name",
    [EXPORT_ADDRESSES] = "fingerpost.io/export-addresses",
};

const char *export_annotation_name(enum export_annotation annotation)
{
    return names[annotation];
}

static DECODE_FIELD(decode_exports, annotations)
{
    if (!decode_text(decoder, doc_get(annotations, names[EXPORT_EXPORTED])))
        return true;
    const char **texts = decode_alloc(decoder, EXPORT_ANNOTATIONS, sizeof(*texts));
    for (size_t i = 0; texts && i < EXPORT_ANNOTATIONS; i++)
        texts[i] = decode_keep(decoder, decode_text(decoder, doc_get(annotations, names[i])));
    ((struct service *)base)->exports = texts;
    return true;
}

static EQUAL_FIELD(exports_equal)
{
    const char *const *left = to_service(a)->exports, *const *right = to_service(b)->exports;
    if (!left || !right)
        return left == right;
    for (size_t i = 0; i < EXPORT_ANNOTATIONS; i++) {
        if (!text_equal(left[i], right[i]))
            return false;
    }
    return true;
}

static ENCODE_FIELD(encode_exports)
{
    const char *const *exports = to_service(base)->exports;
    for (size_t i = 0; exports && i < EXPORT_ANNOTATIONS; i++) {
        if (exports[i])
            json_string(json, names[i], exports[i]);
    }
}

const struct field_type service_exports_type = { decode_exports, exports_equal, encode_exports };
