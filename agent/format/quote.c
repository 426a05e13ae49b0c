// SPDX-License-Identifier: Apache-2.0
/*
 * What a file says goes into faults, and from there to the log and to terminals. It comes from
 * strangers, so it is bounded here and loses what a terminal would act upon: C0 controls, DEL and
 * the C1 controls, which are 0xc2 0x80-0x9f in UTF-8.
 */
#include "format/quote.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes of the character at `string`, which is valid UTF-8. */
static size_t character_size(const char *string)
{
    size_t size = 1;
    while (((uint8_t)string[size] & 0xc0) == 0x80)
        size++;
    return size;
}

static bool is_control(const char *string)
{
    uint8_t first = (uint8_t)string[0], second = (uint8_t)string[1];
    return first < 0x20 || first == 0x7f || (first == 0xc2 && second < 0xa0);
}

const char *quote(const char *string, char buffer[static QUOTE_LEN])
{
    static const char dots[] = "...\"";
    size_t length = 0;
    buffer[length++] = '"';
    while (*string) {
        size_t size = character_size(string);
        if (length + size + sizeof(dots) > QUOTE_LEN) {
            memcpy(buffer + length, dots, sizeof(dots));
            return buffer;
        }
        if (is_control(string))
            buffer[length++] = '?';
        else
            memcpy(buffer + length, string, size);
        length += is_control(string) ? 0 : size;
        string += size;
    }
    buffer[length++] = '"';
    buffer[length] = '\0';
    return buffer;
}
