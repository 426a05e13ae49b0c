// SPDX-License-Identifier: Apache-2.0
/*
 * The settings of consul.address and what stands beside it, as client/consul.h takes them: that
 * room knows no configuration. Called by controller/export_consul.c.
 */
#include "controller/export_where.h"

struct consul_config export_where(const struct export_config *config)
{
    return (struct consul_config){
        .address = config->consul.address,
        .token_file = config->consul.token_file,
        .token = config->consul.token,
        .ca_file = config->consul.ca_file,
        .cert_file = config->consul.cert_file,
        .key_file = config->consul.key_file,
        .server_name = config->consul.server_name,
        .insecure = config->consul.insecure,
        .datacenter = config->consul.datacenter,
        .namespace = config->consul.namespace,
        .partition = config->consul.partition,
    };
}
