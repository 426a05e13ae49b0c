/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies for reasons (plan/routes/address_reason.h), in `agentctl explain`. */
#pragma once

/* Of a reason's word; NULL where it is for the agent to mend. */
const char *explain_remedy(const char *reason);
