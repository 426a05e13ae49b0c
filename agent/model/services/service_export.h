/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service says about its export to load balancers outside the cluster: the annotations of
 * kube-service-exporter, and ours beside them, as they were written. What they mean, and which of
 * them are refused, is said by plan/export/export_service.c: a Service that is not exported may
 * carry anything. A part of service.c's work.
 */
#pragma once

struct field_type;

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

/* Of the map of annotations; service.exports is NULL without the first of them. */
extern const struct field_type service_exports_type;
