/* SPDX-License-Identifier: Apache-2.0 */
/* "holder" of an Explanation as lines, and names of Nodes: whose own an address is. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "format/doc.h"

/* Lines for the Node, the pods and the Services behind which they are; nothing for null. */
void add_holder(struct text *out, const struct doc *holder);

/* A name as a Node may have it, and no address could. */
bool is_node_name(const char *word);
