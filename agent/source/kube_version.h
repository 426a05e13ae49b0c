/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resourceVersion of an object, a list or a watch. Since Kubernetes 1.35 the API guarantees that
 * they are increasing decimal numbers, of any length; they always were.
 */
#pragma once

#include <stdbool.h>

#include "format/doc.h"
#include "status/kube_status.h"

/* Copies the version in an object's metadata; false if there is none, or it is invalid. */
bool kube_version_read(const struct doc *object, char version[static KUBE_VERSION_MAX]);

/* True if it is older; false also if they can't be compared. */
bool kube_version_is_older(const char *version, const char *than);

/* True if it can't be newer than the known version, "" if none is known: it is older, or not a
 * number although the known one is. */
bool kube_version_goes_back(const char *version, const char *known);
