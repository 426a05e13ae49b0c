/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first configuration for this machine, from what can be seen of it: agentd.yaml, and the lines
 * that BIRD needs. Each line says why it is so; what can't be known is said, and left to be filled
 * in. Nothing is changed here.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"

/* What is given, of what can't always be seen from here. */
struct setup_options {
    const char *config;    /* where agentd.yaml is to be: files beside it are looked for */
    const char *manifests; /* the folder; NULL: a kubeconfig beside it, else its folder manifests */
    uint32_t asn, peer_asn; /* this node's, the router's; 0: not given */
};

/* fingerpost.conf and classes.conf of birdconf/, which BIRD's lines include. */
extern const char setup_fingerpost_conf[], setup_classes_conf[];

/*
 * Appends both texts, and to `next` a line for each thing that was not to be found and that
 * somebody has to see to. Returns 0 or -errno.
 */
int setup_compose(const struct setup_options *options, struct text *agentd, struct text *bird,
                  struct text *next);
