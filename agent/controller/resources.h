/* SPDX-License-Identifier: Apache-2.0 */
/* The API resources that the controller's jobs read. */
#pragma once

#include "source/kube_resource.h"

/* The row of a kind that a job names; deploy/kubernetes/controller.yaml has the rights for each. */
struct kube_resource controller_resource(enum kind kind);
