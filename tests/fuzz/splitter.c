// SPDX-License-Identifier: Apache-2.0
/*
 * The splitter on any bytes, with items cut out and without: what it gives of small chunks, whose
 * size the input's length chooses, must be what it gives of all at once, and within its limits.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "format/json_splitter.h"
#include "fuzz.h"

static const struct reader_limits limits = { .document_bytes = 200, .depth = 6 };

static void note_part(const struct json_part *part, int r, bool cut_items, struct text *out)
{
    MUST(part->length > 0 && part->length <= limits.document_bytes + (r < 0));
    MUST(part->text[part->length] == '\0');
    MUST(cut_items || part->kind == JSON_WHOLE);
    MUST(r == 1 || part->kind != JSON_FRAME);
    text_addf(out, "\n%d %d: ", r, (int)part->kind);
    text_add_bytes(out, part->text, part->length);
}

/* Takes all that comes. Returns false at an error from which nothing goes on. */
static bool drain(struct json_splitter *splitter, bool cut_items, struct text *out)
{
    for (;;) {
        AUTOFAULTS struct faults faults = { 0 };
        struct json_part part = { 0 };
        int r = json_splitter_next(splitter, &part, &faults);
        MUST(r == 1 || r == 0 || r == -EMSGSIZE || r == -EBADMSG);
        MUST(faults.list.count == (r < 0 ? 1u : 0u));
        vec_each(const struct fault, fault, &faults.list)
            text_addf(out, "\n%s %s", fault->place, fault->message);
        if (r == 0 || r == -EBADMSG)
            return r == 0;
        note_part(&part, r, cut_items, out);
    }
}

static void split(const uint8_t *bytes, size_t size, size_t chunk, bool cut_items, struct text *out)
{
    CLEANUP(json_splitter_freep)
    struct json_splitter *splitter = json_splitter_new("f", &limits, cut_items);
    bool good = true;
    for (size_t at = 0; at < size && good; at += chunk) {
        json_splitter_push(splitter, (const char *)bytes + at, MIN(chunk, size - at));
        good = drain(splitter, cut_items, out);
    }
    json_splitter_end(splitter);
    if (good)
        good = drain(splitter, cut_items, out);
    struct json_part none;
    json_splitter_push(splitter, "{}", good ? 0 : 2);
    MUST(json_splitter_next(splitter, &none, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    size_t chunk = 1 + size % 31;
    for (int cut_items = 0; cut_items < 2; cut_items++) {
        AUTOTEXT struct text whole = { 0 }, pieces = { 0 };
        split(bytes, size, size, cut_items, &whole);
        split(bytes, size, chunk, cut_items, &pieces);
        MUST(whole.length == pieces.length);
        MUST(memcmp(text_str(&whole), text_str(&pieces), whole.length) == 0);
    }
    return 0;
}
