/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One port of a Service as exported to load balancers outside the cluster: the struct of
 * kube-service-exporter, with the names of its fields in a pattern, in the document and in the
 * hash. Internal to plan/, and to its tests.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"
#include "format/doc.h"

struct exported {
    const char *cluster, *namespace, *name;
    const char *port_name; /* or the Service's port as a number */
    int32_t port;          /* the NodePort; 0: none */
    const char *dns_name;
    bool per_cluster; /* the cluster is part of the id */
    const char *health_path;
    int32_t health_port;
    const char *backend_protocol;
    bool proxy_protocol;
    const char *balancer_class;
    int32_t listen_port;
    const char *sni;
    const struct doc *attributes; /* a map; NULL: an empty one */
    bool attributes_null;         /* the annotation is null */
    const char *id_prefix;
};

/* "ID-PREFIX-CLUSTER-NAMESPACE-NAME-PORT" */
void exported_id(const struct exported *exported, struct text *out);

/*
 * The members of the document, from `hash` to `custom_attrs`, without braces. Returns 0; -ERANGE if
 * a number of the attributes does not fit into a double; -ENOMEM.
 */
int exported_members(const struct exported *exported, struct text *out);

/*
 * A key from a Go text/template, of which `{{ .Field }}` and `{{ id }}` are supported. Returns 0,
 * or -EINVAL with a static text about the error in the template.
 */
int exported_key(const struct exported *exported, const char *pattern, struct text *out,
                 const char **ret_wrong);
