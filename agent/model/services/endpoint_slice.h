/* SPDX-License-Identifier: Apache-2.0 */
/* An EndpointSlice: some of a Service's endpoints, of one address family. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "model/object.h"
#include "model/services/service.h"

struct slice_port {
    const char *name; /* "" if unset */
    enum protocol protocol;
    uint16_t port; /* 0: unset, to be skipped */
};

/* For whom an endpoint is meant (trafficDistribution): names of zones and of nodes. */
struct endpoint_hints {
    const char *const *zones, *const *nodes;
    uint32_t zone_count, node_count;
};

/* Conditions with Kubernetes' defaults filled in: both ready and serving nil = true. */
struct endpoint {
    struct ip ip; /* the first address: all of an endpoint's addresses are one pod's */
    bool ready, serving, terminating;
    const char *node_name;              /* "" if unset: never local */
    const struct endpoint_hints *hints; /* NULL: none */
};

/* Who says where the endpoints are. */
enum slice_source {
    SLICE_OWN,       /* somebody who writes slices: a controller, or a manifest */
    SLICE_MIRROR,    /* the API, which mirrors Endpoints of a Service without a selector */
    SLICE_ENDPOINTS, /* a manifest of Endpoints, whose slices we make: endpoints.h */
};

struct endpoint_slice {
    struct object object;
    const char *service; /* label kubernetes.io/service-name; "": none, the slice is ignored */
    enum slice_source source;
    bool headless_label; /* label service.kubernetes.io/headless, any value */
    uint8_t family;      /* IP_V4, IP_V6; IP_NONE for FQDN, the slice is ignored */
    const struct slice_port *ports;
    uint32_t port_count;
    const struct endpoint *endpoints;
    uint32_t endpoint_count;
    int64_t
        triggered_ms; /* wall clock of the Pod's or Service's change that it follows; 0: not said */
};

static inline const struct endpoint_slice *to_endpoint_slice(const struct object *object)
{
    return (const struct endpoint_slice *)object;
}
