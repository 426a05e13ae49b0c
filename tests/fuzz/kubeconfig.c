// SPDX-License-Identifier: Apache-2.0
/*
 * Kubeconfigs: a file is taken with values that a request can use, or refused with errors that name
 * their places.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/kube/kubeconfig.h"
#include "fuzz_reader.h"

static void check_visible(const char *text)
{
    for (; text && *text; text++)
        MUST(*text > ' ' && *text < 0x7f);
}

static void check_pem(const char *data)
{
    MUST(!data || strstr(data, "-----BEGIN "));
}

static void check(const struct kube_config *config)
{
    size_t length = strlen(config->server);
    MUST(strncmp(config->server, "http://", 7) == 0 || strncmp(config->server, "https://", 8) == 0);
    MUST(config->server[length - 1] != '/');
    MUST((config->cert_data || config->cert_file) == (config->key_data || config->key_file));
    MUST(!config->insecure || (!config->ca_data && !config->ca_file));
    check_visible(config->token);
    check_visible(config->tls_server_name);
    check_pem(config->ca_data);
    check_pem(config->cert_data);
    check_pem(config->key_data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTOFAULTS struct faults errors = { 0 };
    CLEANUP(kube_config_freep) struct kube_config *config = NULL;
    AUTOCLOSE int fd = fuzz_file(bytes, size);
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

    int r = kube_config_load(path, &config, &errors);
    MUST(r == 0 || r == -EBADMSG);
    MUST((r == 0) == (config != NULL) && (r == 0) == faults_none(&errors));
    vec_each(const struct fault, fault, &errors.list)
        MUST(strncmp(fault->place, path, strlen(path)) == 0 && fault->message[0]);
    if (config)
        check(config);
    return 0;
}
