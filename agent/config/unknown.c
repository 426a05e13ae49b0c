// SPDX-License-Identifier: Apache-2.0
/*
 * Unknown keys; see unknown.h. Called by parse.c. A key is misspelt, or it is right and stands one
 * level too high or in another section: then the whole grammar is looked through, which is a table
 * of some hundred names. Names that several sections have (enabled, address) say nothing, nor do
 * short ones (port, table), which somebody may have made up.
 */
#include "config/unknown.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "faults/config.h"
#include "format/quote.h"

enum {
    SUGGEST_DISTANCE = 2,
    LETTERS_EACH = 3, /* one letter may be wrong in three */
    PART_LETTERS = 5, /* of a key that is a part of another program's name for it */
    TELLING_LETTERS = 6,
};

/* The key of this section that the user may have meant, or NULL. */
static const char *suggest(const struct config_key *keys, const char *name)
{
    const char *best = NULL;
    size_t best_distance = MIN(strlen(name) / LETTERS_EACH, (size_t)SUGGEST_DISTANCE) + 1;
    for (; keys->name; keys++) {
        if (strcasecmp(keys->name, name) == 0)
            return keys->name;
        size_t distance = text_distance(name, keys->name);
        if (distance < best_distance) {
            best = keys->name;
            best_distance = distance;
        }
    }
    return best;
}

/* The key that the name begins with, or NULL: client-go's leaseDuration is our lease. */
static const char *find_part(const struct config_key *keys, const char *name)
{
    for (; keys->name; keys++) {
        size_t length = strlen(keys->name);
        if (length >= PART_LETTERS && strncmp(keys->name, name, length) == 0)
            return keys->name;
    }
    return NULL;
}

static bool is_elsewhere(const struct parse *parse, const char *name)
{
    const char *const *names = parse->elsewhere ? parse->elsewhere->names : NULL;
    for (; names && *names; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

/* The tables' nesting is the depth: three. */
static void find_elsewhere(const struct config_key *keys, const char *above, const char *name,
                           struct text *out, size_t *found)
{
    for (; keys->name; keys++) {
        AUTOFREE char *path = text_format("%s%s%s", above, *above ? "." : "", keys->name);
        if (!path)
            return;
        if (strcasecmp(keys->name, name) == 0 && (*found)++ == 0)
            text_add(out, path);
        if (keys->keys)
            find_elsewhere(keys->keys, path, name, out, found);
    }
}

void unknown_key(struct parse *parse, const struct config_key *keys, const struct doc *member)
{
    char name[QUOTE_LEN];
    AUTOTEXT struct text path = { 0 };
    size_t found = 0;
    const char *meant = suggest(keys, member->key);
    const bool elsewhere = !meant && is_elsewhere(parse, member->key);
    if (!meant && !elsewhere)
        meant = find_part(keys, member->key);
    if (!meant && !elsewhere && parse->keys && strlen(member->key) >= TELLING_LETTERS)
        find_elsewhere(parse->keys, "", member->key, &path, &found);
    if (meant)
        doc_raise_key(parse->document, member, parse->errors, config_key_misspelt,
                      .key = quote(member->key, name), .meant = meant);
    else if (elsewhere)
        doc_raise_key(parse->document, member, parse->errors, config_key_of_other_file,
                      .key = quote(member->key, name), .file = parse->elsewhere->file);
    else if (found == 1 && !strchr(text_str(&path), '.'))
        doc_raise_key(parse->document, member, parse->errors, config_key_misplaced,
                      .key = quote(member->key, name), .place = "the beginning of a line");
    else if (found == 1)
        doc_raise_key(parse->document, member, parse->errors, config_key_misplaced,
                      .key = quote(member->key, name), .place = text_str(&path));
    else
        doc_raise_key(parse->document, member, parse->errors, config_key_unknown,
                      .key = quote(member->key, name));
}
