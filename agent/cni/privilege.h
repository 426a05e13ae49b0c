/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin is allowed to do: it begins as root, and gives away what it does not need. */
#pragma once

#include "cni/error.h"

enum privilege {
    PRIVILEGE_NONE,    /* to ask agentd, as root's process without any capability */
    PRIVILEGE_NETWORK, /* links, addresses and routes: CAP_NET_ADMIN */
    PRIVILEGE_ENTER,   /* and to go into a network namespace: CAP_SYS_ADMIN */
};

/* Keeps this, and nothing else, for good: each step can only be towards less. */
int privilege_keep(enum privilege privilege, struct cni_error *error);
