// SPDX-License-Identifier: Apache-2.0
/* See consul_body.h. Called by consul_keeper.c for each registration. */
#include "report/consul_body.h"

#include "base/clock.h"
#include "client/consul/consul_agent.h"
#include "report/consul_there.h"

void consul_body(const struct config *config, const struct agent_service *service,
                 struct text *body)
{
    char address[IP_STRLEN];
    const struct consul_registration registration = {
        .id = service->id,
        .address = ip_str(&service->address, address),
        .port = service->port,
        .tags = { config->exports.cluster, CONSUL_EXPORTER_TAG },
        .meta = { { CONSUL_META_CLUSTER, config->exports.cluster },
                  { CONSUL_META_SERVICE, service->owner },
                  { CONSUL_META_CHECKS, service->checks } },
        .tcp = service->tcp,
        .health_port = service->health_port,
        .ttl_s = config->consul.ttl_ms / SECOND_MS,
        .healthy = service->healthy,
    };
    consul_agent_register(&registration, body);
}
