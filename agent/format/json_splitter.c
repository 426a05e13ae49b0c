// SPDX-License-Identifier: Apache-2.0
/*
 * Finds where values begin and end by nesting, strings and escapes alone; json_value.c is who
 * looks into them.
 *
 * An object at the top whose items are cut out is collected without them, which leaves an empty
 * list behind: so whatever stands around the items can be parsed too, and broken syntax or a
 * second `items` is found. Only commas and brackets between items are judged here.
 *
 * Kinds of brackets inside a value are not looked at: json-c does that. The limits (length,
 * nesting, number of parts) are held here, since they protect json-c; a value beyond them is
 * followed to its end without being kept. Every byte is looked at once.
 */
#include "format/json_splitter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/documents.h"
#include "faults/syntax.h"
#include "format/place.h"

enum state {
    BETWEEN, /* before a value at the top */
    TOP,
    ITEMS, /* before an item */
    ITEM,
    BROKEN,
};

/* A value that is being collected. */
struct collected {
    struct text text;
    struct json_origin origin;
    uint64_t depth; /* brackets that are open */
    uint64_t nodes; /* at most this many values are in it */
    bool string, escaped;
    bool refused; /* beyond a limit: the rest is not kept */
};

struct json_splitter {
    const char *file;
    struct reader_limits limits;
    bool cut_items;
    enum state state;
    struct collected top, item;
    bool has_items;   /* top's were cut out */
    bool after_comma; /* in items */
    struct place place;
    const char *bytes; /* what was pushed and not yet looked at */
    size_t left;
    bool ended;
};

struct json_splitter *json_splitter_new(const char *file, const struct reader_limits *limits,
                                        bool cut_items)
{
    struct json_splitter *splitter = calloc(1, sizeof(*splitter));
    if (!splitter)
        return NULL;
    splitter->file = file;
    splitter->limits = *limits;
    splitter->cut_items = cut_items;
    splitter->place = (struct place){ 1, 1 };
    return splitter;
}

const char *json_splitter_head(const struct json_splitter *splitter)
{
    return text_str(&splitter->top.text);
}

void json_splitter_free(struct json_splitter *splitter)
{
    if (!splitter)
        return;
    text_done(&splitter->top.text);
    text_done(&splitter->item.text);
    free(splitter);
}

void json_splitter_push(struct json_splitter *splitter, const char *bytes, size_t size)
{
    splitter->bytes = bytes;
    splitter->left = size;
}

void json_splitter_end(struct json_splitter *splitter)
{
    splitter->ended = true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Moves over the next bytes. */
static void step(struct json_splitter *splitter, size_t count)
{
    splitter->place = place_after(splitter->place, splitter->bytes, count);
    splitter->bytes += count;
    splitter->left -= count;
}

/* Returns false if the bytes end before something else comes. */
static bool skip_space(struct json_splitter *splitter)
{
    while (splitter->left > 0 && is_space(*splitter->bytes))
        step(splitter, 1);
    return splitter->left > 0;
}

static void begin(const struct json_splitter *splitter, struct collected *value)
{
    text_truncate(&value->text, 0);
    value->origin = (struct json_origin){ .file = splitter->file, .start = splitter->place };
    value->depth = 0;
    value->nodes = 1;
    value->string = value->escaped = value->refused = false;
}

/* Nothing is open: what comes next may end the value. */
static bool is_flat(const struct collected *value)
{
    return value->depth == 0 && !value->string;
}

/* Keeps the book of brackets and quotes. */
static void follow(struct collected *value, char c)
{
    if (value->escaped) {
        value->escaped = false;
    } else if (c == '"') {
        value->string = !value->string;
    } else if (value->string) {
        value->escaped = c == '\\';
    } else if (c == '{' || c == '[') {
        value->nodes++;
        value->depth++;
    } else if (c == '}' || c == ']') {
        value->depth -= value->depth > 0;
    } else if (c == ',') {
        value->nodes++;
    }
}

/* True for a byte that changes nothing in the book: the inside of a string, or of brackets. */
static bool is_plain(const struct collected *value, char c)
{
    if (value->string)
        return c != '"' && c != '\\' && !value->escaped;
    return value->depth > 0 && (is_space(c) || c == ':');
}

/* How many of the next bytes go together: all the plain ones, or one; kept is one too many. */
static size_t run_length(const struct json_splitter *splitter, const struct collected *value)
{
    size_t most = splitter->left, count = 0;
    if (!value->refused)
        most = MIN(most, (size_t)(splitter->limits.document_bytes + 1 - value->text.length));
    while (count < most && is_plain(value, splitter->bytes[count]))
        count++;
    return count > 0 ? count : 1;
}

/* Names the limit that the value is beyond, of which `place` is the end. */
static int check_limits(const struct json_splitter *splitter, const struct collected *value,
                        struct place place, struct faults *faults)
{
    const struct reader_limits *limits = &splitter->limits;
    if (value->depth > limits->depth)
        return place_raise(place, splitter->file, faults, document_too_deep,
                           .limit = limits->depth);
    if (value->text.length > limits->document_bytes)
        return place_raise(value->origin.start, splitter->file, faults, document_value_too_long,
                           .limit = (int64_t)limits->document_bytes);
    if (value->nodes > reader_max_nodes(limits))
        return place_raise(value->origin.start, splitter->file, faults, document_value_too_complex,
                           .limit = (int64_t)reader_max_nodes(limits));
    return text_error(&value->text);
}

/* Moves the next byte, or all the plain ones, into the value. -EBADMSG: it is now refused. */
static int take(struct json_splitter *splitter, struct collected *value, struct faults *faults)
{
    struct place place = splitter->place;
    size_t count = run_length(splitter, value);
    if (!value->refused)
        text_add_bytes(&value->text, splitter->bytes, count);
    if (!is_plain(value, *splitter->bytes))
        follow(value, *splitter->bytes);
    step(splitter, count);
    if (value->refused)
        return 0;
    int r = check_limits(splitter, value, place, faults);
    value->refused = r == -EBADMSG;
    return r;
}

static void give(const struct collected *value, enum json_part_kind kind,
                 struct json_part *ret_part)
{
    *ret_part = (struct json_part){
        .kind = kind,
        .text = text_str(&value->text),
        .length = value->text.length,
        .origin = value->origin,
    };
}

/* Says what take() said of a value that can be lost without those behind it. */
static int give_refused(const struct collected *value, enum json_part_kind kind, int r,
                        struct json_part *ret_part)
{
    if (!value->refused)
        return r;
    give(value, kind, ret_part);
    return -EMSGSIZE;
}

/* The length without white space at the end. */
static size_t trim_space(const char *text, size_t length)
{
    while (length > 0 && is_space(text[length - 1]))
        length--;
    return length;
}

/*
 * True if the text of an object ends with `"items" :` as a key. What stands before the first quote
 * tells the key from a string's end: there the quote would have a backslash before it.
 */
static bool ends_with_items_key(const struct text *text)
{
    static const char key[] = "\"items\"";
    const size_t key_length = sizeof(key) - 1;
    const char *bytes = text_str(text);
    size_t length = trim_space(bytes, text->length);
    if (length == 0 || bytes[0] != '{' || bytes[length - 1] != ':')
        return false;
    length = trim_space(bytes, length - 1);
    if (length < key_length || memcmp(bytes + length - key_length, key, key_length) != 0)
        return false;
    length = trim_space(bytes, length - key_length);
    return length > 0 && (bytes[length - 1] == '{' || bytes[length - 1] == ',');
}

static bool begins_items(const struct json_splitter *splitter, char c)
{
    const struct collected *top = &splitter->top;
    return splitter->cut_items && c == '[' && top->depth == 1 && !top->string &&
           ends_with_items_key(&top->text);
}

static int end_top(struct json_splitter *splitter, struct json_part *ret_part)
{
    splitter->state = BETWEEN;
    if (splitter->top.refused)
        return 0;
    give(&splitter->top, splitter->has_items ? JSON_FRAME : JSON_WHOLE, ret_part);
    return 1;
}

/* Goes on with the value at the top, up to its end or its items. */
static int in_top(struct json_splitter *splitter, struct json_part *ret_part, struct faults *faults)
{
    struct collected *top = &splitter->top;
    while (splitter->left > 0) {
        char c = *splitter->bytes;
        bool word = is_flat(top) && top->text.length > 0;
        if (word && (is_space(c) || c == '{' || c == '[' || c == '"'))
            return end_top(splitter, ret_part);
        bool items = begins_items(splitter, c);
        if (items && splitter->has_items)
            return place_raise(splitter->place, splitter->file, faults, syntax_key_twice,
                               .key = "\"items\"");
        int r = take(splitter, top, faults);
        if (r < 0)
            return splitter->cut_items ? r : give_refused(top, JSON_WHOLE, r, ret_part);
        if (items) {
            splitter->has_items = true;
            splitter->after_comma = false;
            splitter->state = ITEMS;
            return 0;
        }
        if (is_flat(top) && (c == '}' || c == ']' || c == '"'))
            return end_top(splitter, ret_part);
    }
    return 0;
}

/* Leaves the list: its closing bracket follows its opening one in top's text. */
static int end_items(struct json_splitter *splitter, struct faults *faults)
{
    struct collected *top = &splitter->top;
    top->origin.cut = top->text.length;
    top->origin.cut_place = splitter->place;
    splitter->state = TOP;
    return take(splitter, top, faults);
}

/* At the comma or bracket behind an item. */
static int end_item(struct json_splitter *splitter, struct json_part *ret_part,
                    struct faults *faults)
{
    struct collected *item = &splitter->item;
    char end = *splitter->bytes;
    bool empty = item->text.length == 0;
    if (empty && (end != ']' || splitter->after_comma))
        return place_raise(splitter->place, splitter->file, faults, json_value_missing);
    if (end == '}')
        return place_raise(splitter->place, splitter->file, faults, json_comma_missing);
    if (end == ']') {
        int r = end_items(splitter, faults);
        if (r < 0)
            return r;
    } else {
        splitter->after_comma = true;
        splitter->state = ITEMS;
        step(splitter, 1);
    }
    if (empty || item->refused)
        return 0;
    give(item, JSON_ITEM, ret_part);
    return 1;
}

static int in_item(struct json_splitter *splitter, struct json_part *ret_part,
                   struct faults *faults)
{
    struct collected *item = &splitter->item;
    while (splitter->left > 0) {
        char c = *splitter->bytes;
        if (is_flat(item) && (c == ',' || c == ']' || c == '}'))
            return end_item(splitter, ret_part, faults);
        int r = take(splitter, item, faults);
        if (r < 0)
            return give_refused(item, JSON_ITEM, r, ret_part);
    }
    return 0;
}

/* Takes pushed bytes, of which there is one. Returns as json_splitter_next(), and 0 to go on. */
static int advance(struct json_splitter *splitter, struct json_part *ret_part,
                   struct faults *faults)
{
    switch (splitter->state) {
    case BETWEEN:
        if (!skip_space(splitter))
            return 0;
        begin(splitter, &splitter->top);
        splitter->has_items = false;
        splitter->state = TOP;
        return 0;
    case TOP:
        return in_top(splitter, ret_part, faults);
    case ITEMS:
        if (!skip_space(splitter))
            return 0;
        begin(splitter, &splitter->item);
        splitter->state = ITEM;
        return 0;
    case ITEM:
        return in_item(splitter, ret_part, faults);
    case BROKEN:
        splitter->left = 0;
        return 0;
    }
    return 0;
}

/* The text is over: only a word at the top ends with it. */
static int finish(struct json_splitter *splitter, struct json_part *ret_part, struct faults *faults)
{
    const struct collected *top = &splitter->top;
    if (splitter->state == BETWEEN || splitter->state == BROKEN)
        return 0;
    if (splitter->state == TOP && is_flat(top) && top->text.length > 0)
        return end_top(splitter, ret_part);
    return place_raise(splitter->place, splitter->file, faults, syntax_text_ended,
                       .line = top->origin.start.line);
}

static int next_part(struct json_splitter *splitter, struct json_part *ret_part,
                     struct faults *faults)
{
    while (splitter->left > 0) {
        int r = advance(splitter, ret_part, faults);
        if (r != 0)
            return r;
    }
    return splitter->ended ? finish(splitter, ret_part, faults) : 0;
}

int json_splitter_next(struct json_splitter *splitter, struct json_part *ret_part,
                       struct faults *faults)
{
    int r = next_part(splitter, ret_part, faults);
    if (r < 0 && r != -EMSGSIZE)
        splitter->state = BROKEN;
    return r;
}
