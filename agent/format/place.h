/* SPDX-License-Identifier: Apache-2.0 */
/* A line and a column of a file, both from 1; columns count characters, a tab is one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/macro.h"
#include "faults/raise.h"

struct place {
    uint32_t line, column;
};

/* Moves over one byte: a character counts with its first. */
static inline void place_step(struct place *place, char byte)
{
    if (byte == '\n') {
        place->line++;
        place->column = 1;
    } else if (((uint8_t)byte & 0xc0) != 0x80) {
        place->column++;
    }
}

/* The place after `count` bytes that begin at `start`. */
struct place place_after(struct place start, const char *bytes, size_t count);

/* Raises a fault of the catalogue at "file:line:column" and returns -EBADMSG. */
#define place_raise(place, file, faults, id, ...)           \
    place_raise_type(place, file, faults, &fault_type_##id, \
                     &(const struct fault_##id){ __VA_ARGS__ })

int place_raise_type(struct place place, const char *file, struct faults *faults,
                     const struct fault_type *type, const void *arguments);
