/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target is one function that takes any bytes. It is linked with libFuzzer to search, and
 * with replay.c to run over a corpus; tests/fuzz/run and `meson test --suite fuzz` do that.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What must hold for every input; it is not compiled out. */
#define MUST(condition)                                                                    \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)
