/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum over a copy's lines. Private to store/copy_*.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"

enum { COPY_CHECKSUM_STRLEN = 17 }; /* 16 hexadecimal digits and the NUL */

struct copy_chain {
    uint64_t hash;  /* of the last line */
    uint64_t lines; /* so far */
};

/* Adds the next line, without its newline. */
static inline void copy_chain_add(struct copy_chain *chain, const char *line, size_t length)
{
    uint8_t key[16];
    for (int i = 0; i < 8; i++) {
        key[i] = (uint8_t)(chain->hash >> (8 * i));
        key[8 + i] = (uint8_t)(chain->lines >> (8 * i));
    }
    chain->hash = siphash(line, length, key);
    chain->lines++;
}
