/* SPDX-License-Identifier: Apache-2.0 */
/* The document FaultList, of agentd and agent-controller alike. */
#pragma once

#include "base/text.h"
#include "status/fault_book.h"

/* All faults that hold; with a code (else NULL) those of that code. */
void view_fault_list(const struct fault_book *book, const char *code, struct text *out);
