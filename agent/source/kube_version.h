/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resourceVersion: where an object, a list or a watch stands. Since Kubernetes 1.35 the API
 * promises that they are decimal numbers that grow, of any length; they always were.
 */
#pragma once

#include <stdbool.h>

#include "format/doc.h"
#include "status/kube_status.h"

/* Keeps the version in an object's metadata; false if there is none, or it can't be one. */
bool kube_version_read(const struct doc *object, char version[static KUBE_VERSION_MAX]);

/* True if it is older; false also where they can't be compared. */
bool kube_version_is_older(const char *version, const char *than);

/* True if it can't come after what is known, "" if nothing is: it is older, or no number in place
 * of one. */
bool kube_version_goes_back(const char *version, const char *known);
