// SPDX-License-Identifier: Apache-2.0
/*
 * See certificate.h. DER is a tree of tag, length and content; the way to the two times is fixed:
 * Certificate, TBSCertificate, and there behind version (which may be missing), serial number,
 * algorithm and issuer.
 */
#include "base/files/certificate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END   "-----END CERTIFICATE-----"

enum {
    DER_INTEGER = 0x02,
    DER_UTC_TIME = 0x17,
    DER_TIME = 0x18, /* GeneralizedTime */
    DER_SEQUENCE = 0x30,
    DER_VERSION = 0xa0, /* the context's first */
    LENGTH_BYTES_MAX = 3,
};

struct der {
    const uint8_t *at;
    size_t left;
};

/* Takes the next element off `from`; false: there is none of that tag, or it is cut off. */
static bool take(struct der *from, uint8_t tag, struct der *ret_content)
{
    if (from->left < 2 || from->at[0] != tag)
        return false;
    size_t length = from->at[1], header = 2;
    if (length & 0x80) {
        const size_t bytes = length & 0x7f;
        if (bytes == 0 || bytes > LENGTH_BYTES_MAX || from->left < header + bytes)
            return false;
        length = 0;
        for (size_t i = 0; i < bytes; i++)
            length = length << 8 | from->at[header + i];
        header += bytes;
    }
    if (length > from->left - header)
        return false;
    *ret_content = (struct der){ from->at + header, length };
    *from = (struct der){ from->at + header + length, from->left - header - length };
    return true;
}

/* "YYMMDDhhmmssZ" of 1950 to 2049, or with four digits of the year. */
static bool take_time(struct der *from, int64_t *ret_ms)
{
    struct der time;
    char digits[16] = "", text[CLOCK_STRLEN];
    const bool is_utc = take(from, DER_UTC_TIME, &time);
    if (!is_utc && !take(from, DER_TIME, &time))
        return false;
    if (time.left != (is_utc ? 13 : 15) || time.at[time.left - 1] != 'Z')
        return false;
    (void)snprintf(digits, sizeof(digits), "%s%.*s", is_utc ? time.at[0] < '5' ? "20" : "19" : "",
                   (int)time.left - 1, (const char *)time.at);
    (void)snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", digits, digits + 4,
                   digits + 6, digits + 8, digits + 10, digits + 12);
    return clock_parse_rfc3339(text, ret_ms) == 0;
}

static bool read_validity(struct der der, struct certificate_time *ret_time)
{
    struct der certificate, tbs, validity, passed;
    if (!take(&der, DER_SEQUENCE, &certificate) || !take(&certificate, DER_SEQUENCE, &tbs))
        return false;
    (void)take(&tbs, DER_VERSION, &passed);
    return take(&tbs, DER_INTEGER, &passed) && take(&tbs, DER_SEQUENCE, &passed) &&
           take(&tbs, DER_SEQUENCE, &passed) && take(&tbs, DER_SEQUENCE, &validity) &&
           take_time(&validity, &ret_time->from_ms) && take_time(&validity, &ret_time->until_ms);
}

const char *certificate_next(const char *pem, struct certificate_time *ret_time)
{
    AUTOFREE char *bytes = NULL;
    size_t size = 0;
    const char *begin = strstr(pem, BEGIN);
    const char *end = begin ? strstr(begin, END) : NULL;
    if (!end)
        return NULL;
    begin += strlen(BEGIN);
    AUTOFREE char *body = strndup(begin, (size_t)(end - begin));
    if (!body || base64_decode(body, &bytes, &size) < 0 ||
        !read_validity((struct der){ (const uint8_t *)bytes, size }, ret_time))
        return NULL;
    return end + strlen(END);
}
