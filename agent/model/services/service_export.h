/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service says about its export to load balancers outside the cluster: the annotations of
 * kube-service-exporter, and ours beside them, as they were written. What they mean, and which of
 * them are refused, is said by plan/export/export_service.c: a Service that is not exported may
 * carry anything. A part of service.c's work.
 */
#pragma once

#include <stdbool.h>

struct decoder;
struct json;

enum export_annotation {
    EXPORT_EXPORTED, /* without this one nothing of the others is kept */
    EXPORT_DNS_NAME,
    EXPORT_PROXY_PROTOCOL,
    EXPORT_CLASS,
    EXPORT_BACKEND_PROTOCOL,
    EXPORT_LISTEN_PORT,
    EXPORT_HEALTH_PATH,
    EXPORT_HEALTH_PORT,
    EXPORT_PER_CLUSTER,
    EXPORT_CUSTOM_ATTRS,
    EXPORT_ID_PREFIX,
    EXPORT_INGRESS_NAMESPACE,
    EXPORT_INGRESS_NAME,
    EXPORT_INGRESS_PORT,
    EXPORT_ADDRESSES, /* fingerpost.io/export-addresses */
    EXPORT_ANNOTATIONS
};

/* "kube-service-exporter.github.com/exported" */
const char *export_annotation_name(enum export_annotation annotation);

/* EXPORT_ANNOTATIONS texts, NULL for those that are not there; NULL without the first of them. */
const char *const *service_export_decode(struct decoder *decoder);
bool service_export_equal(const char *const *a, const char *const *b);
/* Members of `annotations`, which is open. */
void service_export_encode(const char *const *annotations, struct json *json);
