// SPDX-License-Identifier: Apache-2.0
/* The words of a fault; the language of the templates stands in fault_type.h. */
#include "faults/render.h"

#include <inttypes.h>
#include <string.h>

/* Of one template: what is read, and what it is filled with. */
struct rendering {
    const struct fault_type *type;
    const void *arguments; /* NULL: names stand in their places, "<name>" */
    const char *at;
    bool unsound, empty; /* empty: an argument in the present brackets is */
};

static const struct fault_argument *find(const struct fault_type *type, const char *name,
                                         size_t length, size_t *ret_slot)
{
    for (size_t i = 0; type->arguments[i].name; i++) {
        const char *known = type->arguments[i].name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            *ret_slot = i;
            return &type->arguments[i];
        }
    }
    return NULL;
}

static int64_t number_at(const void *arguments, size_t slot)
{
    int64_t number;
    memcpy(&number, (const char *)arguments + slot * 8, sizeof(number));
    return number;
}

static const char *text_at(const void *arguments, size_t slot)
{
    const char *text;
    memcpy(&text, (const char *)arguments + slot * 8, sizeof(text));
    return text ? text : "";
}

static void put_name(const struct rendering *it, size_t slot, struct text *out)
{
    text_addf(out, "<%s>", it->type->arguments[slot].name);
}

/* "one|many" of a number, which ends at `end`; many, where the number is not known. */
static void put_choice(struct rendering *it, size_t slot, const char *choice, const char *end,
                       struct text *out)
{
    const char *bar = memchr(choice, '|', (size_t)(end - choice));
    if (!bar)
        it->unsound = true;
    else if (it->arguments && number_at(it->arguments, slot) == 1)
        text_add_bytes(out, choice, (size_t)(bar - choice));
    else
        text_add_bytes(out, bar + 1, (size_t)(end - bar - 1));
}

static void put_number(struct rendering *it, size_t slot, struct text *out)
{
    if (!it->arguments) {
        put_name(it, slot, out);
        return;
    }
    int64_t number = number_at(it->arguments, slot);
    it->empty |= number == 0;
    text_addf(out, "%" PRId64, number);
}

static void put_text(struct rendering *it, size_t slot, struct text *out)
{
    if (!it->arguments) {
        put_name(it, slot, out);
        return;
    }
    const char *text = text_at(it->arguments, slot);
    it->empty |= !*text;
    text_add(out, text);
}

/* "{name}" or "{name:one|many}"; behind the first brace. */
static void put_argument(struct rendering *it, struct text *out)
{
    const char *name = it->at, *end = strchr(name, '}');
    size_t slot, length;
    if (!end) {
        it->unsound = true;
        it->at += strlen(it->at);
        return;
    }
    const char *colon = memchr(name, ':', (size_t)(end - name));
    it->at = end + 1;
    length = (size_t)((colon ? colon : end) - name);
    const struct fault_argument *argument = find(it->type, name, length, &slot);
    if (!argument || (colon && argument->kind != FAULT_NUMBER_ARGUMENT))
        it->unsound = true;
    else if (colon)
        put_choice(it, slot, colon + 1, end, out);
    else if (argument->kind == FAULT_NUMBER_ARGUMENT)
        put_number(it, slot, out);
    else
        put_text(it, slot, out);
}

/* One character, or one argument, of a template. */
static void put_one(struct rendering *it, struct text *out)
{
    bool twice = it->at[0] == it->at[1];
    if (*it->at == '{' && !twice) {
        it->at++;
        put_argument(it, out);
        return;
    }
    text_add_char(out, *it->at);
    it->at += twice && strchr("{[", *it->at) ? 2 : 1;
}

/* "[words]"; behind the bracket. */
static void put_option(struct rendering *it, struct text *out)
{
    size_t before = out->length;
    it->empty = false;
    while (*it->at && *it->at != ']')
        put_one(it, out);
    it->unsound |= *it->at != ']';
    it->at += *it->at == ']';
    if (it->empty)
        text_truncate(out, before);
}

static void render(struct rendering *it, struct text *out)
{
    while (*it->at) {
        if (*it->at == '[' && it->at[1] != '[') {
            it->at++;
            put_option(it, out);
        } else {
            put_one(it, out);
        }
    }
}

void fault_render(const struct fault_type *type, const char *pattern, const void *arguments,
                  struct text *out)
{
    struct rendering it = { .type = type, .arguments = arguments, .at = pattern };
    render(&it, out);
}

bool fault_template_is_sound(const struct fault_type *type, const char *pattern)
{
    AUTOTEXT struct text out = { 0 };
    struct rendering it = { .type = type, .at = pattern };
    if (pattern)
        render(&it, &out);
    return !it.unsound;
}

void fault_render_key(const struct fault_type *type, const void *arguments, struct text *out)
{
    for (size_t i = 0; type->arguments[i].name; i++) {
        if (!type->arguments[i].is_key)
            continue;
        text_add(out, text_at(arguments, i));
        text_add_char(out, '\n');
    }
}
