// SPDX-License-Identifier: Apache-2.0
/* Base64 in both directions; see base64.h. */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0 to 63, or -1. */
static int digit(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static const char *skip_breaks(const char *string)
{
    return string + strspn(string, "\r\n");
}

/* Reads the padding that completes `characters` of a group of four, and the end of the string. */
static int read_padding(const char *string, unsigned characters)
{
    if (characters == 1)
        return -EINVAL;
    for (; characters % 4 != 0; characters++) {
        if (*string != '=')
            return -EINVAL;
        string = skip_breaks(string + 1);
    }
    return *string ? -EINVAL : 0;
}

int base64_decode(const char *string, char **ret_bytes, size_t *ret_size)
{
    AUTOFREE char *bytes = malloc(strlen(string) / 4 * 3 + 4);
    if (!bytes)
        return -ENOMEM;

    size_t size = 0;
    uint32_t bits = 0;
    unsigned characters = 0; /* of the group of four */
    int value;
    for (string = skip_breaks(string); (value = digit(*string)) >= 0;
         string = skip_breaks(string + 1)) {
        bits = bits << 6 | (uint32_t)value;
        characters = (characters + 1) % 4;
        if (characters != 1)
            bytes[size++] = (char)(bits >> (4 - characters) % 4 * 2);
    }
    /* Bits that belong to no byte must be clear, or two texts would mean the same. */
    unsigned spare = characters ? (4 - characters) * 2 : 0;
    if ((bits & ((1U << spare) - 1)) != 0 || read_padding(string, characters) < 0)
        return -EINVAL;
    bytes[size] = '\0';
    *ret_bytes = TAKE_PTR(bytes);
    *ret_size = size;
    return 0;
}

void base64_add(struct text *out, const char *bytes, size_t count)
{
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t group = (uint32_t)at[i] << 16;
        group |= left > 1 ? (uint32_t)at[i + 1] << 8 : 0;
        group |= left > 2 ? at[i + 2] : 0;
        const char characters[] = {
            digits[group >> 18],
            digits[(group >> 12) & 63],
            left > 1 ? digits[(group >> 6) & 63] : '=',
            left > 2 ? digits[group & 63] : '=',
        };
        text_add_bytes(out, characters, sizeof(characters));
    }
}
