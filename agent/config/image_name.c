// SPDX-License-Identifier: Apache-2.0
/*
 * References to images, as container runtimes take them: [HOST[:PORT]/]NAME[:TAG][@DIGEST]. Called
 * for controller.yaml. The API takes any text, and only the kubelet of each node that is to run
 * such a pod refuses it, as InvalidImageName.
 */
#include <string.h>

#include "config/parse.h"

#define LOWER  "abcdefghijklmnopqrstuvwxyz0123456789"
#define LETTER LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum { REFERENCE_MAX = 255, TAG_MAX = 128, DIGEST_HEX_MIN = 32 };

static bool is_digest(const char *text)
{
    const char *colon = strchr(text, ':');
    return colon && colon > text && strspn(colon + 1, "0123456789abcdef") == strlen(colon + 1) &&
           strlen(colon + 1) >= DIGEST_HEX_MIN;
}

static bool is_tag(const char *text)
{
    return *text && !strchr(".-", *text) && strlen(text) <= TAG_MAX &&
           strspn(text, LETTER "_.-") == strlen(text);
}

/* One part of the name between slashes. */
static bool is_part(const char *text, size_t length)
{
    return length > 0 && strspn(text, LOWER "._-") >= length && !strchr("._-", text[0]) &&
           !strchr("._-", text[length - 1]);
}

/* The part before the first slash is a host if a name's part could not be one. */
static bool is_registry(const char *text, size_t length)
{
    return length > 0 && strspn(text, LETTER ".-:[]") >= length &&
           (memchr(text, '.', length) || memchr(text, ':', length) ||
            (length == strlen("localhost") && strncmp(text, "localhost", length) == 0));
}

static bool is_name(const char *text)
{
    size_t length = strcspn(text, "/");
    if (text[length] == '/' && is_registry(text, length))
        text += length + 1;
    for (;; text += length + 1) {
        length = strcspn(text, "/");
        if (!is_part(text, length))
            return false;
        if (text[length] == '\0')
            return true;
    }
}

bool parse_is_image(const char *text)
{
    char name[REFERENCE_MAX + 1] = "";
    if (strlen(text) > REFERENCE_MAX)
        return false;
    memcpy(name, text, strlen(text));
    char *at = strchr(name, '@');
    if (at)
        *at++ = '\0';
    char *slash = strrchr(name, '/'), *colon = strrchr(slash ? slash : name, ':');
    if (colon)
        *colon++ = '\0';
    return is_name(name) && (!colon || is_tag(colon)) && (!at || is_digest(at));
}
