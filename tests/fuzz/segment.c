// SPDX-License-Identifier: Apache-2.0
/* Frames of a segment, as anybody on it can send them. */
#include "apply/segment/segment_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment_claim claim;
    (void)segment_frame_parse(data, size, &claim);
    return 0;
}
