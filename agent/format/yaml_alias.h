/* SPDX-License-Identifier: Apache-2.0 */
/* Anchors, aliases and merge keys of YAML, for yaml_build.c. Internal to format/. */
#pragma once

#include "format/yaml_tree.h"

/* Remembers a node under a name, in place of an earlier one of that name. Returns 0, -EBADMSG after
 * adding a fault, or -ENOMEM. */
int yaml_anchor_add(struct yaml_tree *tree, const char *name, const struct doc *node,
                    struct place place, struct faults *faults);
void yaml_anchors_clear(struct yaml_tree *tree);

/* Puts a copy of what the alias names in its place. Returns 1 if the document is complete; else as
 * above. */
int yaml_alias_put(struct yaml_tree *tree, const char *name, struct place place,
                   struct faults *faults);

/* Takes an event that belongs to the value of a merge key. Returns like yaml_anchor_add(). */
int yaml_merge_event(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults);

/* Adds what the merge keys of the innermost map name and the map itself has not. Its keys lie
 * sorted at the end of tree->keys. */
int yaml_merge_apply(struct yaml_tree *tree, struct faults *faults);
