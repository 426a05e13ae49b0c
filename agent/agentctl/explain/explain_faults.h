/* SPDX-License-Identifier: Apache-2.0 */
/* What `agentctl status` has of an object's faults, said by `explain` as well. */
#pragma once

#include <stdbool.h>

#include "agentctl/ctl.h"
#include "base/text.h"
#include "format/doc.h"

/*
 * Adds the faults of what an explanation (/v1/explain) is about: its address, its Services and
 * block, its Node and pods, and of the host on the path to it. Nothing where the agent does not
 * answer. Returns whether there is any.
 */
bool add_explained_faults(struct text *out, const struct ctl *ctl, const struct doc *answer);

/* Adds the faults of the host that a document says lie on the path ("hostFaults"). Likewise. */
bool add_host_faults(struct text *out, const struct ctl *ctl, const struct doc *document);

/* Whether the agent says that it knows nothing at a path of /v1/explain. Says nothing itself. */
bool is_unknown(const struct ctl *ctl, const char *path);

/* Adds the faults of objects of whatever kind that have this name, NAMESPACE/NAME if they have a
 * namespace. Returns whether there is any. */
bool add_named_faults(struct text *out, const struct ctl *ctl, const char *name);
