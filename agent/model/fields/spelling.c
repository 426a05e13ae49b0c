// SPDX-License-Identifier: Apache-2.0
/* Words that were meant to be others; see spelling.h. Kinds, fields, labels and annotations go by
 * it. */
#include "model/fields/spelling.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"

enum { LETTERS_PER_MISTAKE = 4, MISTAKES_MAX = 2, WORD_MAX = 64 };

/* What two words that are alike nearly share: objects have many words, which would be dear to
 * compare letter by letter. */
struct shape {
    size_t letters;
    uint32_t occur; /* a bit for each letter that occurs, of either case */
};

static bool is_letter(char c)
{
    return c != '-' && c != '_';
}

static struct shape shape_of(const char *text)
{
    struct shape shape = { 0 };
    for (; *text; text++) {
        shape.letters += is_letter(*text);
        shape.occur |= is_letter(*text) ? 1U << (*text & 31) : 0;
    }
    return shape;
}

/* False: more mistakes are between them. One changes the length by 1, and which letters occur by
 * 2, at most. */
static bool may_be_alike(const char *word, const char *ours, size_t mistakes)
{
    const struct shape a = shape_of(word), b = shape_of(ours);
    return a.letters <= b.letters + mistakes && b.letters <= a.letters + mistakes &&
           (size_t)__builtin_popcount(a.occur ^ b.occur) <= 2 * mistakes;
}

/* Small letters without dashes: "external_traffic_policy" is externalTrafficPolicy by them. */
static void letters_of(const char *text, char letters[static WORD_MAX])
{
    size_t count = 0;
    for (; *text && count + 1 < WORD_MAX; text++) {
        if (is_letter(*text))
            letters[count++] = (char)tolower((unsigned char)*text);
    }
    letters[count] = '\0';
}

bool spelled_like(const char *word, const char *ours)
{
    char own[WORD_MAX], meant[WORD_MAX];
    const size_t length = strlen(ours);
    const size_t allowed = MIN(length / LETTERS_PER_MISTAKE, (size_t)MISTAKES_MAX);
    if (strcmp(word, ours) == 0 || !may_be_alike(word, ours, allowed) || strlen(word) > 2 * length)
        return false;
    letters_of(word, own);
    letters_of(ours, meant);
    return text_distance(own, meant) <= allowed;
}
