// SPDX-License-Identifier: Apache-2.0
/*
 * The splitter: finds where values begin and end by nesting, strings and escapes alone, and hands
 * each to json_value.c. A tree of a whole List would take some fifteen times the size of its file;
 * here one element is in memory at a time.
 *
 * An object at the top is collected as `outer` without the elements of its `items`, which leave
 * an empty list behind: so whatever stands around them is parsed too, and broken syntax or a
 * second `items` is found. Only commas and brackets between elements are judged here.
 *
 * The splitter does not look at kinds of brackets inside a value: json-c does that. It does hold
 * the limits (length, nesting, number of parts), since they protect json-c.
 */
#include "format/json_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/json_value.h"
#include "format/place.h"

enum { CHUNK = 64 * 1024 };

enum state {
    BETWEEN, /* before a value at the top */
    OUTER,
    ITEMS,
    ENDED,
};

/* A value that is being collected. */
struct part {
    struct text text;
    struct json_origin origin;
    uint32_t depth; /* brackets that are open */
    uint64_t nodes; /* at most this many values are in it */
    bool string, escaped;
};

struct json_reader {
    struct input *input;
    struct reader_limits limits;
    bool whole;
    enum state state;
    struct part outer, element;
    bool has_items;   /* outer's were cut out */
    bool after_comma; /* in items */
    struct place place;
    size_t at, filled;
    char buffer[CHUNK];
};

struct json_reader *json_reader_new(struct input *input, const struct reader_limits *limits,
                                    bool whole)
{
    struct json_reader *reader = malloc(sizeof(*reader));
    if (!reader)
        return NULL;
    memset(reader, 0, offsetof(struct json_reader, buffer));
    reader->input = input;
    reader->limits = *limits;
    reader->whole = whole;
    reader->place = (struct place){ 1, 1 };
    return reader;
}

void json_reader_free(struct json_reader *reader)
{
    if (!reader)
        return;
    text_done(&reader->outer.text);
    text_done(&reader->element.text);
    free(reader);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int refuse(const struct json_reader *reader, struct faults *faults, const char *message)
{
    return place_fault(reader->place, reader->input->file, faults, "%s", message);
}

/* Makes the next byte stand at reader->at. Returns 1, 0 at the end, or an error. */
static int look(struct json_reader *reader, struct faults *faults)
{
    if (reader->at < reader->filled)
        return 1;
    reader->at = reader->filled = 0;
    int r = input_read(reader->input, reader->buffer, CHUNK, &reader->filled, faults);
    if (r < 0)
        return r;
    return reader->filled > 0;
}

static void step(struct json_reader *reader)
{
    place_step(&reader->place, reader->buffer[reader->at++]);
}

static int skip_space(struct json_reader *reader, struct faults *faults)
{
    for (;;) {
        int r = look(reader, faults);
        if (r <= 0 || !is_space(reader->buffer[reader->at]))
            return r;
        step(reader);
    }
}

static void part_begin(struct json_reader *reader, struct part *part)
{
    text_truncate(&part->text, 0);
    part->origin = (struct json_origin){ .file = reader->input->file, .start = reader->place };
    part->depth = 0;
    part->nodes = 1;
    part->string = part->escaped = false;
}

/* Nothing is open: what comes next may end the value. */
static bool part_is_flat(const struct part *part)
{
    return part->depth == 0 && !part->string;
}

/* Keeps the book of brackets and quotes. Returns false where nesting becomes too deep. */
static bool part_follow(struct part *part, char c, uint32_t max_depth)
{
    if (part->escaped) {
        part->escaped = false;
    } else if (c == '"') {
        part->string = !part->string;
    } else if (part->string) {
        part->escaped = c == '\\';
    } else if (c == '{' || c == '[') {
        part->nodes++;
        return part->depth++ < max_depth;
    } else if (c == '}' || c == ']') {
        part->depth -= part->depth > 0;
    } else if (c == ',') {
        part->nodes++;
    }
    return true;
}

/* True for a byte that changes nothing in the book: the inside of a string, or of brackets. */
static bool is_plain(const struct part *part, char c)
{
    if (part->string)
        return c != '"' && c != '\\' && !part->escaped;
    return part->depth > 0 && (is_space(c) || c == ':');
}

/* Copies plain bytes, of which there is one, up to what is not. */
static void take_plain(struct json_reader *reader, struct part *part)
{
    size_t begin = reader->at;
    do {
        step(reader);
    } while (reader->at < reader->filled && is_plain(part, reader->buffer[reader->at]));
    text_add_bytes(&part->text, reader->buffer + begin, reader->at - begin);
}

/* Moves the next byte, or all the plain ones, into the value. */
static int take(struct json_reader *reader, struct part *part, struct faults *faults)
{
    char c = reader->buffer[reader->at];
    if (is_plain(part, c)) {
        take_plain(reader, part);
    } else {
        if (!part_follow(part, c, reader->limits.depth))
            return place_fault(reader->place, reader->input->file, faults,
                               "nested deeper than %u levels", reader->limits.depth);
        text_add_char(&part->text, c);
        step(reader);
    }
    if (part->text.length > reader->limits.document_bytes)
        return place_fault(part->origin.start, reader->input->file, faults,
                           "the value that begins here is longer than %" PRIu64 " bytes",
                           reader->limits.document_bytes);
    if (part->nodes > reader_max_nodes(&reader->limits))
        return place_fault(part->origin.start, reader->input->file, faults,
                           "the value that begins here has more than %" PRIu64 " parts",
                           reader_max_nodes(&reader->limits));
    return text_error(&part->text);
}

static int fault_truncated(struct json_reader *reader, const struct part *part,
                           struct faults *faults)
{
    return place_fault(reader->place, reader->input->file, faults,
                       "the file ends inside the value that begins in line %u",
                       part->origin.start.line);
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

/* Goes on with the value at the top. Returns 1 when it is complete or its items begin. */
static int collect_outer(struct json_reader *reader, struct faults *faults)
{
    struct part *part = &reader->outer;
    for (;;) {
        int r = look(reader, faults);
        if (r < 0)
            return r;
        bool word = part_is_flat(part) && part->text.length > 0;
        if (r == 0 && !word)
            return fault_truncated(reader, part, faults);

        char c = r == 0 ? ' ' : reader->buffer[reader->at];
        if (word && (is_space(c) || strchr("{[\"", c)))
            return 1;
        bool items = c == '[' && part->depth == 1 && !part->string && !reader->whole &&
                     ends_with_items_key(&part->text);
        if (items && reader->has_items)
            return refuse(reader, faults, "the key \"items\" is here twice");
        r = take(reader, part, faults);
        if (r < 0)
            return r;
        if (items) {
            reader->has_items = true;
            reader->after_comma = false;
            reader->state = ITEMS;
            return 1;
        }
        if (part_is_flat(part) && strchr("}]\"", c))
            return 1;
    }
}

static int next_outer(struct json_reader *reader, struct document **ret_document,
                      struct faults *faults)
{
    struct part *part = &reader->outer;
    int r = collect_outer(reader, faults);
    if (r < 0 || reader->state == ITEMS)
        return r < 0 ? r : 0;
    reader->state = BETWEEN;
    r = json_value_parse(text_str(&part->text), part->text.length, &part->origin,
                         reader->limits.depth, reader->has_items ? NULL : ret_document, faults);
    return r < 0 ? r : !reader->has_items;
}

/* Collects one element, up to the comma or bracket behind it, on which the reader then stands. */
static int collect_element(struct json_reader *reader, struct faults *faults)
{
    struct part *part = &reader->element;
    int r = skip_space(reader, faults);
    if (r < 0)
        return r;
    part_begin(reader, part);
    for (;;) {
        r = look(reader, faults);
        if (r < 0)
            return r;
        if (r == 0)
            return fault_truncated(reader, &reader->outer, faults);
        if (part_is_flat(part) && strchr(",]}", reader->buffer[reader->at]))
            return 0;
        r = take(reader, part, faults);
        if (r < 0)
            return r;
    }
}

/* Leaves the list: its closing bracket follows its opening one in outer's text. */
static int end_items(struct json_reader *reader, struct faults *faults)
{
    struct part *part = &reader->outer;
    part->origin.cut = part->text.length;
    part->origin.cut_place = reader->place;
    reader->state = OUTER;
    return take(reader, part, faults);
}

static int next_element(struct json_reader *reader, struct document **ret_document,
                        struct faults *faults)
{
    struct part *part = &reader->element;
    int r = collect_element(reader, faults);
    if (r < 0)
        return r;
    char end = reader->buffer[reader->at];
    bool empty = part->text.length == 0;
    if (empty && (end != ']' || reader->after_comma))
        return refuse(reader, faults, "expected a value");
    if (end == '}')
        return refuse(reader, faults, "expected a comma or a closing bracket");
    if (end == ']') {
        r = end_items(reader, faults);
        if (r < 0)
            return r;
    } else {
        reader->after_comma = true;
        step(reader);
    }
    if (empty)
        return 0;
    r = json_value_parse(text_str(&part->text), part->text.length, &part->origin,
                         reader->limits.depth, ret_document, faults);
    return r < 0 ? r : 1;
}

static int begin_outer(struct json_reader *reader, struct faults *faults)
{
    int r = skip_space(reader, faults);
    if (r < 0)
        return r;
    if (r == 0) {
        reader->state = ENDED;
        return 0;
    }
    part_begin(reader, &reader->outer);
    reader->has_items = false;
    reader->state = OUTER;
    return 0;
}

int json_reader_next(struct json_reader *reader, struct document **ret_document,
                     struct faults *faults)
{
    int r = 0;
    while (r == 0 && reader->state != ENDED) {
        if (reader->state == BETWEEN)
            r = begin_outer(reader, faults);
        else if (reader->state == OUTER)
            r = next_outer(reader, ret_document, faults);
        else
            r = next_element(reader, ret_document, faults);
    }
    if (r < 0)
        reader->state = ENDED;
    return r;
}
