/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the plugin and its network configuration where the container runtime looks for them. */
#pragma once

#include "cni/error.h"

struct cni_install {
    const char *program;  /* what is copied: the plugin itself */
    const char *bin_dir;  /* where it becomes agent-cni */
    const char *conflist; /* what is copied: a list of plugins, which has agent-cni in it */
    const char *conf_dir; /* where it keeps its name */
};

/*
 * Copies both, the program first, each in one step: at any moment the runtime finds the old file or
 * the new one. Folders are made if need be; other files in them are left alone.
 */
int cni_install(const struct cni_install *install, struct cni_error *error);
