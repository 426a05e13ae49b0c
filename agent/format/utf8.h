/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 byte by byte, so that a character may lie across two chunks of a file. */
#pragma once

#include <stdint.h>

struct utf8 {
    uint32_t code;
    uint8_t need;      /* bytes that must still follow; 0 between characters */
    uint8_t low, high; /* what the next of them may be */
};

/* Takes a byte. Returns 1 and the character that it completes, 0 if more must follow, -1 if it
 * can't stand here (the state is then that between two characters). */
int utf8_push(struct utf8 *utf8, uint8_t byte, uint32_t *ret_code);
