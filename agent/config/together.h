/* SPDX-License-Identifier: Apache-2.0 */
/* What one section of agentd.yaml asks of another. */
#pragma once

#include "config/parse.h"

/* Adds a fault for each two values that can't stand beside each other. */
void check_together(struct parse *parse, const struct doc *root);
