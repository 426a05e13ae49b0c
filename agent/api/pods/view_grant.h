/* SPDX-License-Identifier: Apache-2.0 */
/* The plan by which agent-cni makes a pod's interface, as a document. */
#pragma once

#include "base/text.h"
#include "plan/pods/pod_attachment.h"

void view_grant(const struct pod_grant *grant, struct text *out);
