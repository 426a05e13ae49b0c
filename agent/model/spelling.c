// SPDX-License-Identifier: Apache-2.0
/* Words that were meant to be others; see spelling.h. Kinds, fields, labels and annotations go by
 * it. */
#include "model/spelling.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"

enum { LETTERS_PER_MISTAKE = 4, MISTAKES_MAX = 2, WORD_MAX = 64 };

/* Small letters without dashes: "external_traffic_policy" is externalTrafficPolicy by them. */
static void letters_of(const char *text, char letters[static WORD_MAX])
{
    size_t count = 0;
    for (; *text && count + 1 < WORD_MAX; text++) {
        if (*text != '-' && *text != '_')
            letters[count++] = (char)tolower((unsigned char)*text);
    }
    letters[count] = '\0';
}

bool spelled_like(const char *word, const char *ours)
{
    char own[WORD_MAX], meant[WORD_MAX];
    const size_t length = strlen(ours), own_length = strlen(word);
    const size_t allowed = MIN(length / LETTERS_PER_MISTAKE, (size_t)MISTAKES_MAX);
    if (strcmp(word, ours) == 0 || own_length > 2 * length)
        return false;
    letters_of(word, own);
    letters_of(ours, meant);
    return text_distance(own, meant) <= allowed;
}
