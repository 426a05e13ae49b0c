/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller.yaml as typed values, for agent-controller. It is read by the same parser as
 * agentd.yaml (parse.h), with the same manners: every error at once, unknown keys are errors.
 *
 * A configuration is a value that is never changed after loading; the controller takes another one
 * by starting anew (SIGHUP).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "config/export_config.h"

struct controller_config {
    struct {
        bool kubernetes;  /* source.kubernetes is there, as it must be */
        char *kubeconfig; /* NULL: the service account of the pod */
    } source;
    /* The Lease that says which controller leads. */
    struct {
        char *namespace, *name;
        char *identity;                       /* of this one; what tells its runs apart is added */
        int64_t lease_ms, renew_ms, retry_ms; /* held together by the rules of plan/election.h */
    } election;
    struct {
        bool enabled; /* nodes are given blocks of AddressPools; else another controller does it */
    } blocks;
    struct {
        bool
            enabled; /* Services get addresses of IPAddressPools; else another controller does it */
        char *load_balancer_class; /* "": Services without one */
        int64_t rest_ms;           /* how long a freed address is given to nobody else */
    } addresses;
    struct {
        bool enabled; /* Egresses get Deployments of gateways; else another controller does it */
        char *image;  /* that gateways run; NULL: only while it is not enabled */
        uint32_t template_allowed; /* bits by enum template_right; default: none */
    } egress;
    struct {
        char *listen; /* "address:port" */
    } api;
    struct {
        char *run;
    } paths;
    struct export_config exports; /* the section consul, and kube-service-exporter's environment */
};

enum { ELECTION_IDENTITY_MAX = 200 }; /* bytes */

/*
 * Loads a file, over what the environment says of exports. Returns 0; -EBADMSG after adding every
 * error of the file to `errors`; -ENOENT and the like (with a fault) if it can't be read; -ENOMEM.
 */
int controller_config_load(const char *path, struct controller_config **ret_config,
                           struct faults *errors);

/* The same for who has the objects already: the file may lack its `source`. */
int controller_config_load_offline(const char *path, struct controller_config **ret_config,
                                   struct faults *errors);

void controller_config_free(struct controller_config *config);
DEFINE_CLEANUP(struct controller_config *, controller_config_free);
