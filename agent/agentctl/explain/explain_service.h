/* SPDX-License-Identifier: Apache-2.0 */
/* `agentctl explain NAMESPACE/SERVICE`. */
#pragma once

#include <stdbool.h>

#include "agentctl/ctl.h"

/* True if a word names an object by namespace and name, and can't be an address or prefix. */
bool is_object_name(const char *word);

/*
 * Explains each address that the Service names, by `explain`, which takes it as the verb does. What
 * no Service is called is left to `otherwise`. Returns an exit status.
 */
int explain_service(const struct ctl *ctl, const char *word,
                    int (*explain)(const struct ctl *ctl, char **args),
                    int (*otherwise)(const struct ctl *ctl, const char *word));
