// SPDX-License-Identifier: Apache-2.0
/* The YAML reader: any bytes as a file; fuzz_reader.c says what must hold. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_read(bytes, size, READER_YAML);
    return 0;
}
