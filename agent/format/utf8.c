// SPDX-License-Identifier: Apache-2.0
/*
 * A decoder of UTF-8 with the table of well-formed sequences (Unicode, table 3-7): overlong forms,
 * surrogates and codes above U+10FFFF are refused at the first byte that makes them so. The reader
 * checks files with it, the writer replaces what a peer should not see.
 */
#include "format/utf8.h"

static int utf8_begin(struct utf8 *utf8, uint8_t byte)
{
    *utf8 = (struct utf8){ .low = 0x80, .high = 0xbf };
    if (byte >= 0xc2 && byte <= 0xdf) {
        utf8->need = 1;
        utf8->code = byte & 0x1f;
    } else if (byte >= 0xe0 && byte <= 0xef) {
        utf8->need = 2;
        utf8->code = byte & 0x0f;
        utf8->low = byte == 0xe0 ? 0xa0 : 0x80;
        utf8->high = byte == 0xed ? 0x9f : 0xbf;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
        utf8->need = 3;
        utf8->code = byte & 0x07;
        utf8->low = byte == 0xf0 ? 0x90 : 0x80;
        utf8->high = byte == 0xf4 ? 0x8f : 0xbf;
    } else {
        return -1;
    }
    return 0;
}

int utf8_push(struct utf8 *utf8, uint8_t byte, uint32_t *ret_code)
{
    if (utf8->need == 0) {
        if (byte >= 0x80)
            return utf8_begin(utf8, byte);
        *ret_code = byte;
        return 1;
    }
    if (byte < utf8->low || byte > utf8->high) {
        utf8->need = 0;
        return -1;
    }
    utf8->code = utf8->code << 6 | (byte & 0x3f);
    utf8->low = 0x80;
    utf8->high = 0xbf;
    if (--utf8->need > 0)
        return 0;
    *ret_code = utf8->code;
    return 1;
}
