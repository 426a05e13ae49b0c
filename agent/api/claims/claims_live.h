/* SPDX-License-Identifier: Apache-2.0 */
/* What the document and the metrics of claimed addresses are made of. Borrowed; for as long as the
 * agent runs. */
#pragma once

#include "status/claim_status.h"

struct claims_live {
    int (*rows)(void *context, claim_row_list *ret_rows); /* NULL: nothing is claimed here */
    const struct claim_counts *counts;
    void *context;
};
