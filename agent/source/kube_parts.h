/* SPDX-License-Identifier: Apache-2.0 */
/* kube_source_start() with times and a limit of one's own. Internal to source/ and its tests. */
#pragma once

#include "source/kube.h"
#include "source/reflector.h"

/* `timing` must outlive the source. */
int kube_source_start_timed(sd_event *event, const struct kube_source_options *options,
                            const struct kube_timing *timing, struct kube_source **ret_source);
