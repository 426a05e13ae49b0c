/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer of a key that a configuration file can't have may have meant. */
#pragma once

#include "config/parse.h"

/*
 * Adds the fault of a member that is none of `keys`, the table of the section that it stands in:
 * with the key of that section that is spelt alike, or the only section that has such a key.
 */
void unknown_key(struct parse *parse, const struct config_key *keys, const struct doc *member);
