/* SPDX-License-Identifier: Apache-2.0 */
/* The source of objects on the screen of `agentctl status`. */
#pragma once

#include "base/text.h"
#include "format/doc.h"

/* Describe the source in words and return the state word, as the others of verb_status.c do. */
const char *describe_manifests(const struct doc *status, struct text *out);
const char *describe_kubernetes(const struct doc *status, struct text *out);
/* What the API is asked for, a line for each kind. */
void add_kinds(struct text *out, const struct doc *status, const char *indent);
/* What is being written to the API, and what waits and why, likewise. */
void add_writes(struct text *out, const struct doc *status, const char *indent);
/* "12 written, 1 refused", and a line for each that is under way or waits, of a "writes". */
void add_write_counts(struct text *out, const struct doc *writes);
void add_write_rows(struct text *out, const struct doc *writes, const char *indent);
