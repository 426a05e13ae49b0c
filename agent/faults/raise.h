/* SPDX-License-Identifier: Apache-2.0 */
/* Raising a fault of the catalogue: its code, its place, its arguments by name. */
#pragma once

#include "base/fault.h"
#include "faults/fault_type.h"

/*
 * Adds the fault `id` of a table of faults/ to a list:
 *
 *   fault_raise(faults, peer->name, bgp_routes_filtered, .count = 3, .peer = peer->name);
 *
 * Texts are borrowed during the call. Arguments that are not given are empty, or 0; a remedy that
 * is empty then is none. Without memory
 * the list is incomplete, as with faults_add(); a place of NULL is one without memory.
 */
#define fault_raise(faults, place, id, ...) \
    fault_raise_type(faults, place, &fault_type_##id, &(const struct fault_##id){ __VA_ARGS__ })

/* The same for a type that is known at run time only; `arguments` is the struct of its table. */
void fault_raise_type(struct faults *faults, const char *place, const struct fault_type *type,
                      const void *arguments);
