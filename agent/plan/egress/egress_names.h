/* SPDX-License-Identifier: Apache-2.0 */
/* Names and families of Egresses, for the egress planners. Internal to plan/. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "base/text.h"
#include "model/egress.h"
#include "model/fields/label_selector.h"
#include "model/pod.h"
#include "plan/facts.h"

enum { EGRESS_NAMESPACE_LEN = 64, EGRESS_NAME_LEN = 254 }; /* with the NUL */

/* One name of a list. */
struct egress_item {
    char namespace[EGRESS_NAMESPACE_LEN], name[EGRESS_NAME_LEN];
};

/* Removes the first name from a list; false if it is empty. */
bool egress_list_next(const char **list, struct egress_item *ret_item);

/* Whether a list has "NAMESPACE/NAME". */
bool egress_list_has(const char *list, const char *egress);

/* Adds a name, after a comma if it is not the first. */
void egress_list_add(struct text *list, const char *namespace, const char *name);

/* NULL: it does not exist. */
const struct egress *egress_of(const struct node_facts *facts, const struct egress_ref *ref);

bool egress_has_family(const struct egress *egress, uint8_t family);

/* Whether a pod runs on this node. */
bool egress_is_local(const struct node_facts *facts, const struct pod *pod);

/*
 * The label selector of an Egress that specifies one. Returns 0; 1 after a fault if it can't be
 * used: `*ret_selector` is NULL then; -ENOMEM.
 */
int egress_selector(const struct egress *egress, struct label_selector **ret_selector,
                    struct faults *faults);
