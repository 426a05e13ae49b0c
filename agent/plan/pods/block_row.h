/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's row of a block of pod addresses that this node holds: one row for each family. */
#pragma once

#include "base/sorted.h"
#include "model/address_block.h"
#include "plan/routes/route_inputs.h"

/* A block of this node, one family of it. */
struct block_row {
    struct prefix prefix;
    char block[254], pool[254];
    bool reserved;
};

int block_row_cmp(const void *a, const void *b); /* prefix, then block */

/* The rows (0 to 2) of a block object; none for NULL. Returns their number. */
int plan_block(const struct route_inputs *inputs, const struct address_block *block,
               struct block_row ret_rows[static 2]);

/* The rows of all blocks of this node, from nothing. Returns 0 or -ENOMEM. */
int plan_blocks(const struct route_inputs *inputs, struct sorted *ret_rows);
