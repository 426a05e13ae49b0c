/* SPDX-License-Identifier: Apache-2.0 */
/* Text from a file, as it may stand in a report. */
#pragma once

enum { QUOTE_LEN = 96 };

/* `string` in double quotes, cut when long, control characters as "?". Returns `buffer`. */
const char *quote(const char *string, char buffer[static QUOTE_LEN]);
