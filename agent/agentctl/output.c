// SPDX-License-Identifier: Apache-2.0
/*
 * How things look; the common law of all verbs' output for people. Tables are in table.c.
 *
 * Text of others' making (manifests, faults) goes through add_clean(). Colour is put on state words
 * only, and always says what the word says. On a terminal, lines are broken between words to its
 * width, and go on below where their text began; elsewhere a line stays a line.
 */
#include "agentctl/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "base/cleanup.h"

const char *state_color(const char *word)
{
    static const struct {
        const char *word, *sequence;
    } colors[] = {
        { "OK", "\033[32m" },          { "healthy", "\033[32m" },     { "announced", "\033[32m" },
        { "WARN", "\033[33m" },        { "degraded", "\033[33m" },    { "starting", "\033[33m" },
        { "withheld", "\033[33m" },    { "add", "\033[33m" },         { "replace", "\033[33m" },
        { "delete", "\033[33m" },      { "FAIL", "\033[31m" },        { "failed", "\033[31m" },
        { "blocked", "\033[31m" },     { "off", "\033[2m" },          { "foreign", "\033[2m" },
        { "Established", "\033[32m" }, { "differs", "\033[33m" },     { "ready", "\033[32m" },
        { "not ready", "\033[33m" },   { "terminating", "\033[33m" },

        { "forward", "\033[32m" },     { "partly", "\033[33m" },      { "reject", "\033[33m" },
        { "drop", "\033[31m" },        { "pass", "\033[2m" },

        { "current", "\033[32m" },     { "pending", "\033[33m" },     { "going", "\033[33m" },
        { "kept", "\033[33m" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(colors); i++)
        if (strcmp(word, colors[i].word) == 0)
            return colors[i].sequence;
    return NULL;
}

void add_state(struct text *out, const struct ctl *ctl, const char *word, int width)
{
    const char *color = ctl->color ? state_color(word) : NULL;

    text_addf(out, "%s%s%s", color ? color : "", word, color ? "\033[0m" : "");
    for (int i = (int)strlen(word); i < width; i++)
        text_add_char(out, ' ');
}

/* C0, DEL, and the C1 controls, which UTF-8 writes as c2 80 to c2 9f. */
void add_clean(struct text *out, const char *string)
{
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) {
            text_add_char(out, '?');
            c++;
        } else {
            text_add_char(out, *c < 0x20 || *c == 0x7f ? '?' : (char)*c);
        }
    }
}

void add_bytes(struct text *out, int64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        text_add_count(out, bytes, "byte");
        return;
    }
    for (; value >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
        value /= 1024;
    text_addf(out, "%.1f %s", value, units[unit]);
}

/* " (for 3m, bgp-session-down)", as far as both are there. */
static void add_age_and_code(struct text *out, const char *ago, const char *code)
{
    if (!ago && !code)
        return;
    text_addf(out, " (%s%s%s", ago ? "for " : "", ago ? ago : "", ago && code ? ", " : "");
    if (code)
        add_clean(out, code);
    text_add_char(out, ')');
}

void add_fault(struct text *out, const struct doc *fault, const char *indent)
{
    char buffer[CLOCK_STRLEN];
    const char *ago = field_ago(fault, "since", buffer);

    text_add(out, indent);
    add_clean(out, field(fault, "place"));
    text_add(out, ": ");
    add_clean(out, field(fault, "message"));
    add_age_and_code(out, ago, doc_get(fault, "code") ? field(fault, "code") : NULL);
    text_add_char(out, '\n');
    if (doc_get(fault, "remedy")) {
        text_addf(out, "%s-> ", indent);
        add_clean(out, field(fault, "remedy"));
        text_add_char(out, '\n');
    }
}

void add_source(struct text *out, const char *before, const struct doc *object)
{
    if (field_is(object, "source", "kubernetes")) {
        text_addf(out, "%sKubernetes", before);
    } else if (doc_get(object, "file")) {
        text_add(out, before);
        add_clean(out, field(object, "file"));
        text_addf(out, ":%s", field(object, "line"));
    }
}

void add_age(struct text *out, const struct doc *map, const char *key, const char *before)
{
    char buffer[CLOCK_STRLEN];
    const char *ago = field_ago(map, key, buffer);

    if (ago)
        text_addf(out, "%s%s ago", before, ago);
}

int print_text(struct text *out, int status)
{
    if (text_error(out) < 0) {
        fprintf(stderr, "agentctl: %s\n", strerror(ENOMEM));
        return EXIT_FAILED;
    }
    return print_body(text_str(out), status);
}

/* A write error stays in the stream; main() looks at it once, at the end. */
int print_body(const char *body, int status)
{
    (void)fputs(body, stdout);
    return status;
}

const char *table_word(const char *number)
{
    return strcmp(number, "254") == 0 ? "main" : number;
}

size_t window_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}

size_t char_width(const char *at, size_t *ret_bytes)
{
    mbstate_t state = { 0 };
    wchar_t wide;
    const size_t size = mbrtowc(&wide, at, strlen(at), &state);

    *ret_bytes = 1;
    if (size == (size_t)-1 || size == (size_t)-2 || size == 0)
        return 1;
    *ret_bytes = size;
    const int width = wcwidth(wide);
    return width < 0 ? 1 : (size_t)width;
}

/* How many bytes at `at` are an escape sequence of add_state(). */
static size_t escape_bytes(const char *at)
{
    return at[0] == '\033' && at[1] == '[' ? strcspn(at, "m") + 1 : 0;
}

/* What a line takes on the screen until a byte that is one of `stop`, or its end. */
static size_t width_until(const char *at, const char *stop, const char **ret_end)
{
    size_t width = 0, bytes;

    while (*at && !strchr(stop, *at)) {
        if ((bytes = escape_bytes(at)) == 0)
            width += char_width(at, &bytes);
        at += bytes;
    }
    *ret_end = at;
    return width;
}

enum {
    TITLES_WIDTH = 28, /* in front of a line's text: "  OK    machine.kernel     " */
    UNIT_WIDTH = 20,   /* of what is kept together in parentheses */
};

/* Where a line goes on below: at its text behind titles, else a little further in than it began. */
static size_t hanging(const char *line)
{
    const size_t begin = strspn(line, " ");
    size_t at = begin, found = 0, bytes;

    for (const char *c = line + begin; *c && *c != '\n' && at < TITLES_WIDTH; c += bytes) {
        if ((bytes = escape_bytes(c)) > 0)
            continue;
        at += char_width(c, &bytes);
        if (c[0] == ' ' && c[bytes] != ' ' && c[bytes] != '\n' && c[-1] == ' ')
            found = at;
    }
    if (found > 0)
        return found;
    return begin + (strncmp(line + begin, "-> ", 3) == 0 ? 3 : 2);
}

/*
 * What stays together, and its width: a word; a number with the word behind it; a few words in
 * parentheses, as "(for 3d 4h)".
 */
static size_t unit_width(const char *at, const char **ret_end)
{
    const char *end;
    size_t width = width_until(at, " \n", &end);
    const size_t closing = strcspn(at, ")\n");

    if (*at == '(' && at[closing] == ')' && closing < UNIT_WIDTH && at + closing > end)
        width = width_until(at, ")", &end) + width_until(at + closing, " \n", &end);
    else if (*end == ' ' && strspn(at, "0123456789") == (size_t)(end - at))
        width += 1 + width_until(end + 1, " \n", &end);
    *ret_end = end;
    return width;
}

/* Prints a line of words, with breaks between them; returns what follows it. */
static const char *print_broken(const char *line, size_t width)
{
    const size_t hang = hanging(line), begin = strspn(line, " ");
    const char *end, *at = line + begin;
    size_t column = begin;
    bool first = true;

    printf("%*s", (int)begin, "");
    while (*at && *at != '\n') {
        const size_t gap = strspn(at, " ");
        const size_t word = unit_width(at + gap, &end);
        if (!first && column + gap + word > width) {
            printf("\n%*s%.*s", (int)hang, "", (int)(end - at - gap), at + gap);
            column = hang + word;
        } else {
            printf("%.*s", (int)(end - at), at);
            column += gap + word;
        }
        first = false;
        at = end;
    }
    return at;
}

int print_lines(struct text *out, int status)
{
    const size_t width = window_width();
    const char *end;

    if (text_error(out) < 0 || width == 0)
        return print_text(out, status);
    for (const char *at = text_str(out); *at; at++) {
        if (width_until(at, "\n", &end) <= width)
            printf("%.*s", (int)(end - at), at);
        else
            end = print_broken(at, width);
        (void)putchar('\n');
        at = end;
        if (!*at)
            break;
    }
    return status;
}
