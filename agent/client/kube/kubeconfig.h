/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the Kubernetes API is, and how both sides authenticate: the current context of a
 * kubeconfig, or a pod's service account.
 *
 * Unsupported fields are rejected by name (exec, auth-provider, username, impersonation). Files
 * that it names are read when a request begins, not here: they may be rotated.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/net/ip.h"

struct kube_config {
    char *server;                /* "https://host:6443/prefix", without a slash at its end */
    char *ca_data, *ca_file;     /* PEM, or where it is; both NULL: the system's CAs */
    char *cert_data, *cert_file; /* of the client; likewise */
    char *key_data, *key_file;
    char *token, *token_file; /* the file takes precedence over the value */
    char *tls_server_name;    /* the name in the server's certificate; NULL: that of the URL */
    char *proxy_url;          /* NULL: none, whatever the environment has */
    bool insecure;            /* insecure-skip-tls-verify */
};

/* Where a pod finds its token and ca.crt. */
#define KUBE_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/*
 * Reads the current context of a kubeconfig. Returns 0; -EBADMSG after adding every error to
 * `errors`, with its place; -ENOENT and the like (with a fault) if it can't be read; -ENOMEM.
 */
int kube_config_load(const char *path, struct kube_config **ret_config, struct faults *errors);

/*
 * The configuration of a pod: the API's address from the environment, credentials from `folder`
 * (KUBE_SERVICE_ACCOUNT). Returns as kube_config_load(); -EBADMSG: this is no pod.
 */
int kube_config_in_cluster(const char *folder, struct kube_config **ret_config,
                           struct faults *errors);

/*
 * Reads a kubeconfig and the files that it names, and has the TLS library load them as for a
 * request; sends nothing to the network. Returns as kube_config_load(); of a file that can't be
 * read, -EACCES and the like with a fault.
 */
int kube_config_try(const char *path, struct faults *errors);

/* The server's address, if the URL has one; false if it has a name. */
bool kube_config_address(const struct kube_config *config, struct ip *ret_ip);

void kube_config_free(struct kube_config *config);
DEFINE_CLEANUP(struct kube_config *, kube_config_free);
