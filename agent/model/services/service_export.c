// SPDX-License-Identifier: Apache-2.0
/*
 * Annotations about export as one array of texts; see service_export.h. The table below is all that
 * knows their names.
 */
#include "model/services/service_export.h"

#include "format/json.h"
#include "model/fields/decode.h"
#include "model/fields/equal.h"

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

const char *const *service_export_decode(struct decoder *decoder)
{
    if (!decode_text(decoder, decode_annotation(decoder, names[EXPORT_EXPORTED])))
        return NULL;
    const char **texts = decode_alloc(decoder, EXPORT_ANNOTATIONS, sizeof(*texts));
    for (size_t i = 0; texts && i < EXPORT_ANNOTATIONS; i++)
        texts[i] = decode_keep(decoder, decode_text(decoder, decode_annotation(decoder, names[i])));
    return texts;
}

bool service_export_equal(const char *const *a, const char *const *b)
{
    if (!a || !b)
        return a == b;
    for (size_t i = 0; i < EXPORT_ANNOTATIONS; i++) {
        if (!text_equal(a[i], b[i]))
            return false;
    }
    return true;
}

void service_export_encode(const char *const *annotations, struct json *json)
{
    for (size_t i = 0; annotations && i < EXPORT_ANNOTATIONS; i++) {
        if (annotations[i])
            json_string(json, names[i], annotations[i]);
    }
}
