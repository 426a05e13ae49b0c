// SPDX-License-Identifier: Apache-2.0
/*
 * The difference of two short texts by lines: the longest common sequence, as diff(1) finds it, by
 * a table of all pairs. Configurations have a few hundred lines; longer ones are shown as replaced.
 */
#include "doctor/difference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { LINES_MAX = 2000 };

typedef VEC(char *) line_list; /* into a copy of the text */

static int split(char *text, line_list *ret_lines)
{
    for (char *line; (line = strsep(&text, "\n"));) {
        if (!text && *line == '\0')
            break; /* behind the last newline */
        if (vec_push(ret_lines, line) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* common[i][j]: how many lines the texts from lines i and j on have in common. */
static void measure(const line_list *a, const line_list *b, unsigned *common)
{
    const size_t width = b->count + 1;
    for (size_t i = a->count; i-- > 0;)
        for (size_t j = b->count; j-- > 0;) {
            const unsigned down = common[(i + 1) * width + j], right = common[i * width + j + 1];
            common[i * width + j] = strcmp(a->items[i], b->items[j]) == 0
                                        ? common[(i + 1) * width + j + 1] + 1
                                    : down > right ? down
                                                   : right;
        }
}

static void write_lines(const line_list *a, const line_list *b, const unsigned *common,
                        struct text *out)
{
    const size_t width = b->count + 1;
    size_t i = 0, j = 0;
    while (i < a->count || j < b->count) {
        if (i < a->count && j < b->count && strcmp(a->items[i], b->items[j]) == 0) {
            text_addf(out, "  %s\n", a->items[i++]);
            j++;
        } else if (i < a->count &&
                   (j == b->count || common[(i + 1) * width + j] >= common[i * width + j + 1])) {
            text_addf(out, "- %s\n", a->items[i++]);
        } else {
            text_addf(out, "+ %s\n", b->items[j++]);
        }
    }
}

int difference_add(const char *from, const char *to, struct text *out)
{
    AUTOFREE char *old = strdup(from), *fresh = strdup(to);
    AUTOVEC line_list a = { 0 }, b = { 0 };

    if (!old || !fresh || split(old, &a) < 0 || split(fresh, &b) < 0)
        return -ENOMEM;
    if (a.count > LINES_MAX)
        vec_clear(&a);
    AUTOFREE unsigned *common = calloc((a.count + 1) * (b.count + 1), sizeof(*common));
    if (!common)
        return -ENOMEM;
    measure(&a, &b, common);
    write_lines(&a, &b, common, out);
    return text_error(out);
}
