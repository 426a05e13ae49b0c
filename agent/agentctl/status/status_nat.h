/* SPDX-License-Identifier: Apache-2.0 */
/* Service NAT on the screen of `agentctl status`. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "format/doc.h"

/* Describes NAT in words and returns the state word, as the others of verb_status.c do. */
const char *describe_services(const struct doc *status, struct text *out);
/* What needs attention, and what to do about it. */
void add_nat_warnings(struct text *out, const struct doc *nat, const char *indent);
/* What was refused lately, a line each. */
void add_refusals(struct text *out, const struct doc *refusals, const char *indent);
/* What is told with -v: how many packets each kind of hook has seen, and what was refused. */
void add_nat_details(struct text *out, const struct doc *nat, const char *indent);
