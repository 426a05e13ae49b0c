// SPDX-License-Identifier: Apache-2.0
/*
 * The walk over a configuration file, of whichever program: each member of a map is looked up in a
 * table of keys and read by the parser that stands there. Nothing stops at an error, so all of a
 * file are reported, in the order in which they stand. A member that is null keeps its default, but
 * for a section that says something by being there: with nothing behind its name either may be
 * meant.
 */
#include "config/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/unknown.h"
#include "faults/config.h"
#include "faults/documents.h"
#include "format/quote.h"
#include "format/reader.h"

static const struct config_key *find_key(const struct config_key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (strcmp(keys->name, name) == 0)
            return keys;
    return NULL;
}

void parse_keys(struct parse *parse, const struct config_key *keys, const struct doc *map)
{
    if (doc_expect(parse->document, map, DOC_MAP, parse->errors) <= 0)
        return;
    doc_each(member, map) {
        const struct config_key *key = find_key(keys, member->key);
        if (!key)
            unknown_key(parse, keys, member);
        else if (member->type != DOC_NULL)
            key->parse(parse, key, member, (char *)parse->base + key->offset);
        else if (key->parse == parse_present && member->text && !*member->text)
            doc_raise_key(parse->document, member, parse->errors, config_key_empty,
                          .key = key->name);
    }
}

void parse_section(struct parse *parse, const struct config_key *key, const struct doc *node,
                   void *field)
{
    (void)field;
    size_t errors = parse->errors->list.count;
    parse_keys(parse, key->keys, node);
    if (key->check && parse->errors->list.count == errors)
        key->check(parse, node);
}

void parse_present(struct parse *parse, const struct config_key *key, const struct doc *node,
                   void *field)
{
    *(bool *)field = true;
    parse_section(parse, key, node, field);
}

void parse_set_string(struct parse *parse, char **field, const char *value)
{
    char *copy = strdup(value);
    if (!copy) {
        parse->error = -ENOMEM;
        return;
    }
    free(*field);
    *field = copy;
}

void parse_checked(struct parse *parse, const struct doc *node, char **field,
                   bool (*is_good)(const char *text), const char *expected)
{
    const char *text;
    char shown[QUOTE_LEN];
    if (doc_string(parse->document, node, &text, parse->errors) <= 0)
        return;
    if (is_good(text))
        parse_set_string(parse, field, text);
    else
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = expected, .found = quote(text, shown));
}

int parse_file(const char *path, const struct config_grammar *grammar, void *base,
               struct document **ret_document, struct faults *errors)
{
    CLEANUP(document_freep) struct document *document = NULL;
    int r = document_read(path, READER_YAML, &document, errors);
    if (r < 0)
        return r;
    struct document empty = { .file = path, .source_line = 1, .source_column = 1 };
    struct parse parse = { .document = document ? document : &empty,
                           .base = base,
                           .keys = grammar->keys,
                           .elsewhere = &grammar->elsewhere,
                           .errors = errors };
    const struct doc *root = parse.document->root;
    size_t before = errors->list.count;
    if (!grammar->without_source && (!root || root->type == DOC_MAP || root->type == DOC_NULL) &&
        !doc_get(root, "source"))
        doc_raise(parse.document, root, errors, config_key_missing, .key = "source",
                  .expected = "it says where the objects come from");
    parse_keys(&parse, grammar->keys, root);
    if (grammar->check)
        grammar->check(&parse, root);
    if (parse.error < 0 || errors->incomplete)
        return -ENOMEM;
    if (errors->list.count > before)
        return -EBADMSG;
    *ret_document = TAKE_PTR(document);
    return 0;
}

/* "auto, stack or direct" */
static void list_words(const char *const *words, size_t count, struct text *out)
{
    for (size_t i = 0; i < count; i++)
        text_addf(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
}

void parse_word(struct parse *parse, const struct doc *node, const char *const *words, size_t count,
                unsigned *field)
{
    char shown[QUOTE_LEN];
    const char *text = "";
    AUTOTEXT struct text known = { 0 };
    if (doc_string(parse->document, node, &text, parse->errors) < 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *field = i;
            return;
        }
    }
    list_words(words, count, &known);
    doc_raise(parse->document, node, parse->errors, document_value_unexpected,
              .expected = text_str(&known), .found = quote(text, shown));
}
