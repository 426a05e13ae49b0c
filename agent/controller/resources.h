/* SPDX-License-Identifier: Apache-2.0 */
/* Where the API has what the controller's jobs read. */
#pragma once

#include "source/kube_resource.h"

/* The row of a kind that some job names; deploy/kubernetes/controller.yaml allows each. */
struct kube_resource controller_resource(enum kind kind);
