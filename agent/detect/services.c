// SPDX-License-Identifier: Apache-2.0
/*
 * Services that wait for a load balancer address, and Services that lack something they need to be
 * served. Excluded are Services of another load balancer class or another proxy, and all waiting
 * Services on a node that announces no load balancer addresses.
 *
 * The hold times have these reasons. An allocator needs some time. Related files are written one
 * after the other. During a rollout the first new pod may name its ports differently. Pods of a
 * deleted Node are deleted some time later.
 */
#include "base/clock.h"
#include "base/text.h"
#include "detect/detector.h"
#include "faults/raise.h"
#include "faults/waiting.h"
#include "model/services/service.h"
#include "plan/nat/service_lacks.h"
#include "plan/pools/waiting.h"

static void detect_waits(const struct detector_facts *facts, struct faults *faults)
{
    const struct service *service = facts->service;
    if (!plan_service_waits(facts->config, service))
        return;
    AUTOFREE char *place =
        text_format("Service %s/%s", service->object.namespace, service->object.name);
    if (service->ingress_hostname)
        fault_raise(faults, place, service_has_hostname, .hostname = service->ingress_hostname);
    else
        fault_raise(faults, place, service_waits_for_address);
}

static void detect_lacks(const struct detector_facts *facts, struct faults *faults)
{
    if (!*facts->service->object.file)
        service_lacks(facts->store, facts->config, facts->service, faults);
}

static void detect_file_lacks(const struct detector_facts *facts, struct faults *faults)
{
    if (*facts->service->object.file)
        service_lacks(facts->store, facts->config, facts->service, faults);
}

static void more_wait(int64_t count, struct faults *faults)
{
    fault_raise(faults, "Services", services_waiting, .count = count);
}

static void more_lack(int64_t count, struct faults *faults)
{
    fault_raise(faults, "Services", services_lacking, .count = count);
}

#define LACKS                                                                                  \
    DETECTOR_CODES(                                                                            \
        &fault_type_service_port_unserved, &fault_type_service_port_unnumbered,                \
        &fault_type_service_slice_without_ports, &fault_type_service_endpoint_node_unknown,    \
        &fault_type_service_endpoints_without_node, &fault_type_service_family_missing,        \
        &fault_type_service_endpoints_are_names, &fault_type_service_ranges_miss_external_ips, \
        &fault_type_service_without_cluster_ip, &fault_type_node_zone_missing,                 \
        &fault_type_services_lacking)

const struct detector service_detectors[SERVICE_DETECTORS + 1] = {
    {
        .name = "service-waits",
        .subsystem = "services",
        .group = "waiting",
        .codes = DETECTOR_CODES(&fault_type_service_waits_for_address,
                                &fault_type_service_has_hostname, &fault_type_services_waiting),
        .facts = FACT_SERVICE,
        .hold_ms = 5 * SECOND_MS,
        .detect = detect_waits,
        .rest = more_wait,
    },
    {
        .name = "service-lacks",
        .subsystem = "services",
        .group = "waiting",
        .codes = LACKS,
        .facts = FACT_SERVICE,
        .hold_ms = 120 * SECOND_MS,
        .detect = detect_lacks,
        .rest = more_lack,
    },
    {
        .name = "service-lacks-file",
        .subsystem = "services",
        .group = "waiting",
        .codes = LACKS,
        .facts = FACT_SERVICE,
        .hold_ms = SECOND_MS / 2,
        .detect = detect_file_lacks,
        .rest = more_lack,
    },
    { .name = NULL },
};
