/* SPDX-License-Identifier: Apache-2.0 */
/* What NAT is to do, for people: the services of a Plan, the frontends of an Explanation. */
#pragma once

#include <stddef.h>

#include "base/text.h"
#include "format/doc.h"

/* One line for each frontend in "nat"; nothing if there is none. */
void add_services(struct text *out, const struct doc *nat);

/*
 * One frontend, from its address to the end of the line; of each list at most `limit` members.
 * `service` has namespace, name and affinitySeconds.
 */
void add_frontend(struct text *out, const struct doc *service, const struct doc *frontend,
                  size_t limit);
