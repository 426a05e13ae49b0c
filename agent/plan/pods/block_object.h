/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an AddressBlock, exactly as Coil's controller writes it: for the controller, which
 * allocates blocks, and for a node that restores one. Pure; errors are kept in the text.
 */
#pragma once

#include "base/text.h"
#include "plan/pods/block_table.h"

/* An AddressBlock to be created, whose controlling owner is the pool. */
void write_address_block(const struct block_entry *entry, const struct address_pool *pool,
                         struct text *body);
