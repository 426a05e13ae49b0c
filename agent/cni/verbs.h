/* SPDX-License-Identifier: Apache-2.0 */
/* What is done for each command of the specification. */
#pragma once

#include "base/text.h"
#include "cni/error.h"
#include "cni/request.h"

/* Carries a request out; `out` gets the document that it is answered with, if there is one. */
int verb_run(const struct cni_request *request, struct text *out, struct cni_error *error);
