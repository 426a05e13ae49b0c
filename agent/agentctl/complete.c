// SPDX-License-Identifier: Apache-2.0
/*
 * Completion: what the shells know of agentctl, they ask here, so that it is the tables of verbs
 * and options (deploy/completion/ only translates). Names of objects are asked from the agent,
 * which has 200 ms: a key press must not hang, and no agent means no names.
 */
#include "agentctl/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/options.h"
#include "agentctl/output.h"
#include "base/text.h"
#include "faults/catalogue.h"

enum { AGENT_TIMEOUT_MS = 200 };

/* The command line before the word that is being typed. */
struct line {
    char **plain; /* the words that are no options; ends with NULL */
    int plain_count;
    const struct verb *verb;         /* NULL: not known yet */
    int verb_words;                  /* of `plain` */
    const struct option_row *option; /* whose value is being typed, or NULL */
    bool no_options;                 /* after "--" */
    const char *socket;
};

/* Prints `head` and `word` if that is what was begun. */
static void offer(const char *typed, const char *head, const char *word, const char *meaning)
{
    AUTOTEXT struct text line = { 0 };

    text_add(&line, head);
    add_clean(&line, word);
    if (strncmp(text_str(&line), typed, strlen(typed)) == 0)
        printf("%s%s%s\n", text_str(&line), *meaning ? "\t" : "", meaning);
}

static const struct option_row *option_of(const char *word)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        size_t length = strlen(row->name);
        if (word[1] == '-' && strncmp(word + 2, row->name, length) == 0 &&
            (word[2 + length] == '\0' || word[2 + length] == '='))
            return row;
        if (word[1] == row->id)
            return row;
    }
    return NULL;
}

/* The value that stands in the same word as its option, or NULL. */
static const char *value_within(const char *word)
{
    if (word[1] != '-')
        return word[1] && word[2] ? word + 2 : NULL;
    const char *equals = strchr(word, '=');
    return equals ? equals + 1 : NULL;
}

/* Reads the words before the last. */
static void read_line(struct line *line, int count, char **words)
{
    for (int i = 0; i < count - 1; i++) {
        const struct option_row *option = line->option;
        const char *value = words[i];
        line->option = NULL;
        if (!option && strcmp(words[i], "--") == 0) {
            line->no_options = true;
            continue;
        }
        if (!option && (words[i][0] != '-' || line->no_options)) {
            line->plain[line->plain_count++] = words[i];
            continue;
        }
        if (!option) {
            option = option_of(words[i]);
            value = value_within(words[i]);
            if (option && option->argument && !value)
                line->option = option;
        }
        if (option && value && strcmp(option->name, "socket") == 0)
            line->socket = value;
    }
    if (line->plain_count > 0)
        line->verb = verb_find(line->plain, &line->verb_words);
}

/* A block by its prefix, an address without: both are what `explain` takes. */
static void offer_addresses(const struct line *line, const char *typed, const char *head)
{
    const struct ctl ctl = { .socket = line->socket };
    AUTOANSWER struct answer answer = { 0 };

    if (answer_try(&ctl, "/v1/routes", AGENT_TIMEOUT_MS, NULL, &answer) < 0)
        return;
    doc_each(item, doc_get(answer.root, "items")) {
        AUTOTEXT struct text name = { 0 };
        const char *prefix = field(item, "prefix");
        bool whole = field_is(item, "kind", "block");
        text_add_bytes(&name, prefix, whole ? strlen(prefix) : strcspn(prefix, "/"));
        offer(typed, head, text_str(&name), field(item, "state"));
    }
}

static void offer_services(const struct line *line, const char *typed, const char *head)
{
    const struct ctl ctl = { .socket = line->socket };
    AUTOANSWER struct answer answer = { 0 };

    if (answer_try(&ctl, "/v1/services", AGENT_TIMEOUT_MS, NULL, &answer) < 0)
        return;
    doc_each(item, doc_get(answer.root, "items")) {
        AUTOTEXT struct text name = { 0 };
        text_addf(&name, "%s/%s", field(item, "namespace"), field(item, "name"));
        offer(typed, head, text_str(&name), field(item, "type"));
    }
}

/* Of a list the last name is being typed. */
static void offer_columns(const struct line *line, const char *typed, const char *head)
{
    AUTOTEXT struct text before = { 0 };
    const char *comma = strrchr(typed, ',');

    text_add(&before, head);
    if (comma) {
        text_truncate(&before, 0);
        text_add_bytes(&before, typed, (size_t)(comma + 1 - typed));
    }
    const struct column *column = line->verb ? line->verb->columns : NULL;
    for (; column && column->title; column++) {
        AUTOTEXT struct text name = { 0 };
        for (const char *c = column->title; *c; c++)
            text_add_char(&name, *c == ' ' ? '-' : (char)tolower((unsigned char)*c));
        offer(typed, text_str(&before), text_str(&name), "");
    }
}

/* The next word of verbs that begin like this; rows of equal first words stand together. */
static void offer_verbs(const struct line *line, const char *typed)
{
    const char *last = "";
    size_t last_length = 0;

    for (size_t i = 0; i < verb_count; i++) {
        AUTOTEXT struct text word = { 0 };
        const char *name = verbs[i].name, *space = strchr(name, ' ');
        size_t first = space ? (size_t)(space - name) : strlen(name);
        if (line->plain_count == 0) {
            if (first == last_length && strncmp(name, last, first) == 0)
                continue;
            text_add_bytes(&word, name, first);
            offer(typed, "", text_str(&word), space ? "" : verbs[i].help);
            last = name;
            last_length = first;
        } else if (line->plain_count == 1 && space && strlen(line->plain[0]) == first &&
                   strncmp(line->plain[0], name, first) == 0) {
            offer(typed, "", space + 1, verbs[i].help);
        }
    }
}

/* What follows the verb is one again, as for `help`. */
static void offer_verbs_after(const struct line *line, const char *typed)
{
    const struct line rest = {
        .plain = line->plain + line->verb_words,
        .plain_count = line->plain_count - line->verb_words,
    };
    offer_verbs(&rest, typed);
}

static void offer_value(const struct line *line, enum completes completes,
                        const char *const *own_words, const char *typed, const char *head)
{
    switch (completes) {
    case COMPLETES_NOTHING:
        return;
    case COMPLETES_FILE:
        printf(":files\n");
        return;
    case COMPLETES_FOLDER:
        printf(":folders\n");
        return;
    case COMPLETES_ADDRESS:
        offer_addresses(line, typed, head);
        return;
    case COMPLETES_SERVICE:
        offer_services(line, typed, head);
        return;
    case COMPLETES_VERB:
        offer_verbs_after(line, typed);
        return;
    case COMPLETES_COLUMNS:
        offer_columns(line, typed, head);
        return;
    case COMPLETES_CODE:
        for (size_t i = 0; i < fault_catalogue_count(); i++)
            offer(typed, head, fault_catalogue_at(i)->code, "");
        return;
    case COMPLETES_WORD:
        for (; *own_words; own_words++)
            offer(typed, head, *own_words, "");
        return;
    }
}

static void offer_options(const struct line *line, const char *typed)
{
    const unsigned wanted = line->verb ? verb_options(line->verb) : ~0U;
    char letter[3] = "-";

    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        AUTOTEXT struct text name = { 0 };
        if (row->verbs != OPTION_COMMON && !(row->verbs & wanted))
            continue;
        text_addf(&name, "--%s%s", row->name, row->argument ? "=" : "");
        offer(typed, "", text_str(&name), row->help);
        letter[1] = (char)row->id;
        if (row->id < 256 && typed[1] != '-')
            offer(typed, "", letter, row->help);
    }
}

static void offer_words(const struct line *line, const char *typed)
{
    const char *value = value_within(typed);
    const struct option_row *option =
        typed[0] == '-' && value && !line->no_options ? option_of(typed) : NULL;

    if (line->option) {
        offer_value(line, line->option->completes, line->option->words, typed, "");
    } else if (option) {
        AUTOTEXT struct text head = { 0 };
        text_add_bytes(&head, typed, (size_t)(value - typed));
        offer_value(line, option->completes, option->words, typed, text_str(&head));
    } else if (typed[0] == '-' && !line->no_options) {
        offer_options(line, typed);
    } else {
        if (line->plain_count <= 1)
            offer_verbs(line, typed);
        if (line->verb && line->plain_count - line->verb_words < line->verb->max_args)
            offer_value(line, line->verb->completes, NULL, typed, "");
    }
}

int complete(int count, char **words)
{
    struct line line = { .socket = server_agent.socket };
    AUTOFREE char **plain = calloc((size_t)count + 1, sizeof(*plain));

    if (!plain)
        return EXIT_FAILED;
    line.plain = plain;
    read_line(&line, count, words);
    offer_words(&line, count > 0 ? words[count - 1] : "");
    return EXIT_OK;
}
