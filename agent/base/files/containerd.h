/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the container runtime containerd is configured to do, as far as this program asks: where it
 * looks for CNI plugins and their lists. `agentctl doctor` and `agent-cni install` ask both here,
 * so that what the one finds wrong the other mends.
 */
#pragma once

#define CONTAINERD_CONFIG "/etc/containerd/config.toml"

/*
 * The value of "bin_dir" (or the first of "bin_dirs", which later versions have) or "conf_dir" in
 * the file's text, which the caller frees; NULL: it is not there, or there is no memory.
 */
char *containerd_value(const char *content, const char *key);
/* Likewise, of this machine's file; NULL as well if that can't be read. */
char *containerd_bin_dir(void);
