// SPDX-License-Identifier: Apache-2.0
/* The words for the states of claims; see claim_status.h. */
#include "status/claim_status.h"

const char *claim_state_name(enum claim_state state)
{
    static const char *const names[CLAIM_STATES] = { "barred", "waiting", "other",
                                                     "taking", "taken",   "held" };
    return names[state];
}
