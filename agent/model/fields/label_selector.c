// SPDX-License-Identifier: Apache-2.0
/*
 * Selectors of labels: from text to requirements, and whether labels meet them.
 *
 * The text is a user's annotation. Its length, requirements and values are bounded, it is read once
 * from left to right, and the first character that can't be read is named. What is accepted is what
 * Kubernetes accepts, blanks included; but an empty selector, which selects everything there, is
 * refused: nobody who left a value out means all Nodes of the cluster. `in` and `notin` are names
 * of labels, too, where no name stands before them.
 *
 * Called by plan/egress/egress_set.c. A selector is one allocation, with the words in a copy of the
 * text.
 */
#include "model/fields/label_selector.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

enum { NAME_PART_MAX = 63, DOMAIN_MAX = 253 };

struct label_selector {
    size_t requirement_count, value_count;
    struct label_requirement requirements[LABEL_SELECTOR_MAX_REQUIREMENTS];
    const char *values[LABEL_SELECTOR_MAX_VALUES];
    char *next_word; /* while parsing: the free rest of `words` */
    char words[];
};

struct reading {
    const char *text, *at;
    struct label_selector *selector;
    struct label_selector_error *error;
};

int label_cmp(const void *a, const void *b)
{
    const struct label *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static int refuse(const struct reading *reading, const char *at, const char *message)
{
    *reading->error =
        (struct label_selector_error){ .column = (size_t)(at - reading->text) + 1, message };
    return -EINVAL;
}

static void skip_blanks(struct reading *reading)
{
    reading->at += strspn(reading->at, " \t\r\n");
}

static bool is_word_char(char c)
{
    return isascii((unsigned char)c) &&
           (isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.');
}

/* At most 63 characters that begin and end with a letter or a digit. */
static bool is_name_part(const char *part, size_t length)
{
    if (length == 0 || length > NAME_PART_MAX || !isalnum((unsigned char)part[0]) ||
        !isalnum((unsigned char)part[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_word_char(part[i]))
            return false;
    }
    return true;
}

static size_t word_length(const struct reading *reading)
{
    size_t length = 0;
    while (is_word_char(reading->at[length]) || reading->at[length] == '/')
        length++;
    return length;
}

/* Takes the next `length` characters as a word of the selector. */
static const char *take(struct reading *reading, size_t length)
{
    char *word = reading->selector->next_word;
    memcpy(word, reading->at, length);
    word[length] = '\0';
    reading->selector->next_word += length + 1;
    reading->at += length;
    skip_blanks(reading);
    return word;
}

/* "role", "example.com/role" */
static int read_name(struct reading *reading, const char **ret_name)
{
    size_t length = word_length(reading);
    const char *slash = memchr(reading->at, '/', length);
    size_t domain = slash ? (size_t)(slash - reading->at) : 0;
    size_t part = slash ? domain + 1 : 0;
    if (length == 0)
        return refuse(reading, reading->at, "expected a label's name");
    if ((slash && (domain == 0 || domain > DOMAIN_MAX)) ||
        !is_name_part(reading->at + part, length - part))
        return refuse(reading, reading->at, "this is no label's name");
    *ret_name = take(reading, length);
    return 0;
}

/* May be empty: "a=" is the label a with an empty value. */
static int read_value(struct reading *reading)
{
    struct label_selector *selector = reading->selector;
    size_t length = word_length(reading);
    if (length > 0 && !is_name_part(reading->at, length))
        return refuse(reading, reading->at, "this is no label's value");
    if (selector->value_count == LABEL_SELECTOR_MAX_VALUES)
        return refuse(reading, reading->at, "more values than are taken");
    selector->values[selector->value_count++] = take(reading, length);
    return 0;
}

static bool skip(struct reading *reading, const char *sign)
{
    size_t length = strlen(sign);
    if (strncmp(reading->at, sign, length) != 0)
        return false;
    reading->at += length;
    skip_blanks(reading);
    return true;
}

/* "(a, b)" */
static int read_values(struct reading *reading)
{
    if (!skip(reading, "("))
        return refuse(reading, reading->at, "expected (");
    do {
        int r = read_value(reading);
        if (r < 0)
            return r;
    } while (skip(reading, ","));
    return skip(reading, ")") ? 0 : refuse(reading, reading->at, "expected , or )");
}

static bool skip_word(struct reading *reading, const char *word)
{
    size_t length = word_length(reading);
    if (length != strlen(word) || strncmp(reading->at, word, length) != 0)
        return false;
    reading->at += length;
    skip_blanks(reading);
    return true;
}

/* What stands behind a label's name. */
static int read_relation(struct reading *reading, struct label_requirement *requirement)
{
    if (skip_word(reading, "in"))
        return read_values(reading);
    if (skip_word(reading, "notin")) {
        requirement->relation = LABEL_IS_NONE_OF;
        return read_values(reading);
    }
    if (skip(reading, "!=")) {
        requirement->relation = LABEL_IS_NONE_OF;
        return read_value(reading);
    }
    if (skip(reading, "==") || skip(reading, "="))
        return read_value(reading);
    requirement->relation = LABEL_EXISTS;
    return 0;
}

static int read_requirement(struct reading *reading)
{
    struct label_selector *selector = reading->selector;
    struct label_requirement requirement = { .values = selector->values + selector->value_count };
    size_t before = selector->value_count;
    if (selector->requirement_count == LABEL_SELECTOR_MAX_REQUIREMENTS)
        return refuse(reading, reading->at, "more requirements than are taken");
    bool absent = skip(reading, "!");
    int r = read_name(reading, &requirement.name);
    if (r < 0)
        return r;
    if (absent)
        requirement.relation = LABEL_EXISTS_NOT;
    else
        r = read_relation(reading, &requirement);
    if (r < 0)
        return r;
    requirement.value_count = selector->value_count - before;
    selector->requirements[selector->requirement_count++] = requirement;
    return 0;
}

static int read_selector(struct reading *reading)
{
    skip_blanks(reading);
    if (!*reading->at)
        return refuse(reading, reading->at, "is empty, which would select everything");
    do {
        int r = read_requirement(reading);
        if (r < 0)
            return r;
    } while (skip(reading, ","));
    return *reading->at ? refuse(reading, reading->at, "expected a comma or the end") : 0;
}

int label_selector_parse(const char *text, struct label_selector **ret_selector,
                         struct label_selector_error *ret_error)
{
    struct reading reading = { .text = text, .at = text, .error = ret_error };
    size_t length = strnlen(text, LABEL_SELECTOR_MAX_LENGTH + 1);
    if (length > LABEL_SELECTOR_MAX_LENGTH)
        return refuse(&reading, text + LABEL_SELECTOR_MAX_LENGTH, "is too long");
    /* An empty value takes a NUL, and may have no character of its own: "a in (,,)". */
    CLEANUP(label_selector_freep)
    struct label_selector *selector = calloc(1, sizeof(*selector) + 2 * (length + 1));
    if (!selector)
        return -ENOMEM;
    selector->next_word = selector->words;
    reading.selector = selector;
    int r = read_selector(&reading);
    if (r < 0)
        return r;
    *ret_selector = TAKE_PTR(selector);
    return 0;
}

static bool is_one_of(const struct label_requirement *requirement, const char *value)
{
    for (size_t i = 0; i < requirement->value_count; i++) {
        if (strcmp(requirement->values[i], value) == 0)
            return true;
    }
    return false;
}

/* As in Kubernetes, who lacks a label has none of its values. */
static bool is_met(const struct label_requirement *requirement, const struct label *label)
{
    switch (requirement->relation) {
    case LABEL_IS_ONE_OF:
        return label && is_one_of(requirement, label->value);
    case LABEL_IS_NONE_OF:
        return !label || !is_one_of(requirement, label->value);
    case LABEL_EXISTS:
        return label;
    case LABEL_EXISTS_NOT:
        return !label;
    }
    return false;
}

bool label_requirements_met(const struct label_requirement *requirements, size_t requirement_count,
                            const struct label *labels, size_t count)
{
    for (size_t i = 0; i < requirement_count; i++) {
        const struct label key = { .name = requirements[i].name };
        const struct label *label =
            count ? bsearch(&key, labels, count, sizeof(*labels), label_cmp) : NULL;
        if (!is_met(&requirements[i], label))
            return false;
    }
    return true;
}

bool label_selector_matches(const struct label_selector *selector, const struct label *labels,
                            size_t count)
{
    return label_requirements_met(selector->requirements, selector->requirement_count, labels,
                                  count);
}

void label_selector_free(struct label_selector *selector)
{
    free(selector);
}
