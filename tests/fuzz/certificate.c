// SPDX-License-Identifier: Apache-2.0
/* Certificates: each that is read moves on, and its times are those of a year with four digits. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files/certificate.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = strndup((const char *)bytes, size);
    struct certificate_time time;
    char written[CLOCK_STRLEN];
    for (const char *at = text, *next; at && (next = certificate_next(at, &time)); at = next) {
        MUST(next > at);
        MUST(strlen(clock_rfc3339(time.from_ms, written)) == 20);
        MUST(strlen(clock_rfc3339(time.until_ms, written)) == 20);
    }
    free(text);
    return 0;
}
