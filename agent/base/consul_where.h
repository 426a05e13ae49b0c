/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a Consul is, and as whom it is asked: what the section `consul` of a configuration fills
 * (config/export_config.h), and what requests are made with (client/consul/consul.h). Those two
 * rooms know nothing of each other.
 */
#pragma once

#include <stdbool.h>

/* NULL: not set. They are the configuration's. */
struct consul_where {
    char *address; /* "https://127.0.0.1:8501", without a path; "unix:///run/consul.sock" */
    char *token_file, *ca_file, *cert_file, *key_file;
    char *token; /* of the environment, never of a configuration file; token_file goes first */
    char
        *ca_path; /* of the environment: a folder, of which each file has CAs; ca_file goes first */
    char *auth;   /* of the environment: "user:password", for a proxy before Consul */
    char *server_name; /* that the certificate has to have; NULL: the address's */
    bool insecure;     /* the certificate is not checked */
    char *datacenter, *namespace, *partition;
};
