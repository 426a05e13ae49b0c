/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a word is another one, misspelt. Private to model/. */
#pragma once

#include <stdbool.h>

/*
 * Whether `word` is not `ours` and looks as if it were meant: other capitals, dashes or underscores
 * alone, or a letter in four that is wrong, two at most. "Pod" is no misspelt "Node".
 */
bool spelled_like(const char *word, const char *ours);
