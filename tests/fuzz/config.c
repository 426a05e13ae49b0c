// SPDX-License-Identifier: Apache-2.0
/*
 * The configuration: a file is taken with sound values in every field, or refused with errors that
 * name their places. A refused one is never half taken.
 */
#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "fuzz_reader.h"

static void check_prefixes(const prefix_list *prefixes)
{
    vec_each(const struct prefix, prefix, prefixes)
        MUST(prefix->ip.family != IP_NONE && prefix->length <= ip_bits(&prefix->ip));
}

static void check_strings(const string_list *strings)
{
    vec_each(char *, string, strings)
        MUST(*string && **string);
}

static void check(const struct config *config)
{
    MUST(config->node && config->node[0]);
    MUST((config->source.manifests != NULL) != config->source.kubernetes);
    MUST(!config->source.kubeconfig || config->source.kubernetes);
    MUST(config->source.max_file_bytes > 0);
    MUST(config->routes.table > 0 && config->routes.table != 254 && config->routes.table != 120);
    MUST(config->routes.hold_initial_ms >= 0);
    MUST(config->routes.hold_max_ms >= config->routes.hold_initial_ms);
    MUST(config->routes.drain_shutdown_ms >= 0 && config->routes.drain_withdraw_ms >= 0);
    MUST(config->routes.deadman_ms >= 0);
    MUST(config->services.snat_ports.first <= config->services.snat_ports.last);
    MUST(config->services.load_balancer_class && config->services.proxy_name);
    MUST(config->api.listen && config->paths.run && config->paths.state && config->paths.bpf);
    MUST(config->egress.gateway.ports.first <= config->egress.gateway.ports.last);
    MUST(config->egress.gateway.port_block >= 8 && config->egress.port > 0);
    check_prefixes(&config->egress.in_cluster);
    check_strings(&config->egress.gateway.serves);
    check_prefixes(&config->services.cluster_cidrs);
    check_prefixes(&config->services.service_cidrs);
    check_prefixes(&config->services.node_port_addresses);
    check_prefixes(&config->services.external_ips);
    check_prefixes(&config->services.load_balancer_ips);
    check_strings(&config->services.uplinks);
    check_strings(&config->services.pod_interfaces);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTOFAULTS struct faults errors = { 0 };
    CLEANUP(config_freep) struct config *config = NULL;
    AUTOCLOSE int fd = fuzz_file(bytes, size);
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

    int r = config_load(path, &config, &errors);
    MUST(r == 0 || r == -EBADMSG);
    MUST((r == 0) == (config != NULL) && (r == 0) == faults_none(&errors));
    vec_each(const struct fault, fault, &errors.list)
        MUST(strncmp(fault->place, path, strlen(path)) == 0 && fault->message[0]);
    if (config)
        check(config);
    return 0;
}
