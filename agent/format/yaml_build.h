/* SPDX-License-Identifier: Apache-2.0 */
/* Builds one document from libyaml's events. */
#pragma once

#include <stdbool.h>

#include <yaml.h>

#include "base/fault.h"
#include "format/yaml_tree.h"

/* Forgets what was built, for the next document. */
void yaml_build_reset(struct yaml_tree *tree);
void yaml_build_done(struct yaml_tree *tree);

/*
 * Takes a scalar, an alias, or the beginning or end of a map or list. Returns 1 when the document
 * is complete, 0 if more must come, -EBADMSG after adding a fault, or -ENOMEM.
 */
int yaml_build_event(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults);

/* True if the value of the top map's member `items` comes next. */
bool yaml_build_at_items(const struct yaml_tree *tree);

/* Puts an empty list in place of the one that begins with `event`. Returns like the above. */
int yaml_build_cut(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults);
