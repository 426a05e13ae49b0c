// SPDX-License-Identifier: Apache-2.0
/*
 * What the kinds' decoders share; see decode.h.
 *
 * A document comes from a file or an API server that may be wrong or hostile. Two things keep the
 * cost of that in bounds: at most DECODE_FAULTS_MAX errors and as many warnings are listed for one
 * object (then a last line says that there are more), and nothing here is worse than n log n.
 */
#include "model/fields/decode.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "format/quote.h"

/* No more errors are listed: then nothing is looked at either. */
static bool full(const struct decoder *decoder)
{
    return decoder->error_count >= DECODE_FAULTS_MAX;
}

/* An error was added to the list; the last that is listed is followed by a line that says so. */
static void count_error(struct decoder *decoder)
{
    if (++decoder->error_count == DECODE_FAULTS_MAX)
        doc_raise(decoder->document, NULL, decoder->errors, object_errors_unlisted);
}

static int counted(struct decoder *decoder, int r)
{
    if (r < 0)
        count_error(decoder);
    return r;
}

void decode_error_type(struct decoder *decoder, const struct doc *node,
                       const struct fault_type *type, void *arguments)
{
    if (full(decoder))
        return;
    doc_raise_type(decoder->document, node, decoder->errors, type, arguments);
    count_error(decoder);
}

void decode_warning_type(struct decoder *decoder, const struct doc *node,
                         const struct fault_type *type, void *arguments)
{
    if (decoder->silent || decoder->warning_count >= DECODE_FAULTS_MAX)
        return;
    doc_raise_type(decoder->document, node, decoder->warnings, type, arguments);
    if (++decoder->warning_count == DECODE_FAULTS_MAX)
        doc_raise(decoder->document, NULL, decoder->warnings, object_warnings_unlisted);
}

bool decode_is_manifest(const struct decoder *decoder)
{
    const char *file = decoder->document->file;
    return file && *file;
}

size_t decode_rounded(size_t size)
{
    size_t unit = alignof(max_align_t);
    return (size + unit - 1) / unit * unit;
}

void *decode_alloc(struct decoder *decoder, size_t count, size_t size)
{
    if (count == 0)
        return NULL;
    void *memory = arena_alloc_array(decoder->arena, count, size);
    if (!memory) {
        decoder->no_memory = true;
        return NULL;
    }
    decoder->array_bytes += decode_rounded(count * size);
    return memory;
}

const char *decode_keep(struct decoder *decoder, const char *text)
{
    if (!text || !*text)
        return text ? "" : NULL;
    size_t size = strlen(text) + 1;
    decoder->string_bytes += size;
    if (!decoder->strings)
        return text;
    const char *kept = memcpy(decoder->strings, text, size);
    decoder->strings += size;
    return kept;
}

const char *decode_keep_part(struct decoder *decoder, const char *text, size_t length)
{
    char *part = decoder->strings;
    if (length == 0)
        return "";
    if (!part && !(part = arena_alloc(decoder->arena, length + 1))) {
        decoder->no_memory = true;
        return "";
    }
    memcpy(part, text, length);
    part[length] = '\0';
    decoder->string_bytes += length + 1;
    if (decoder->strings)
        decoder->strings += length + 1;
    return part;
}

/* RFC 1123: parts of lower-case letters, digits and inner dashes; dots between them. */
static bool is_dns_name(const char *name, size_t length, size_t max_length, bool dots)
{
    if (length == 0 || length > max_length)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool first = i == 0 || name[i - 1] == '.';
        bool last = i + 1 == length || name[i + 1] == '.';
        bool letter = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9');
        bool inner = name[i] == '-' && !first && !last;
        bool dot = name[i] == '.' && dots && !first && !last;
        if (!letter && !inner && !dot)
            return false;
    }
    return true;
}

bool decode_is_name(const char *name, size_t length)
{
    return is_dns_name(name, length, NAME_MAX_LENGTH, true);
}

bool decode_is_namespace(const char *name, size_t length)
{
    return is_dns_name(name, length, NAMESPACE_MAX_LENGTH, false);
}

const char *decode_text(struct decoder *decoder, const struct doc *node)
{
    const char *text = NULL;
    if (!full(decoder))
        (void)counted(decoder, doc_string(decoder->document, node, &text, decoder->errors));
    return text;
}

bool decode_bool(struct decoder *decoder, const struct doc *node, bool fallback)
{
    if (!full(decoder))
        (void)counted(decoder, doc_bool(decoder->document, node, &fallback, decoder->errors));
    return fallback;
}

int64_t decode_int(struct decoder *decoder, const struct doc *node, int64_t min, int64_t max,
                   int64_t fallback)
{
    if (!full(decoder))
        (void)counted(decoder,
                      doc_int(decoder->document, node, min, max, &fallback, decoder->errors));
    return fallback;
}

static const struct doc *decode_container(struct decoder *decoder, const struct doc *node,
                                          enum doc_type type)
{
    if (!node || full(decoder))
        return NULL;
    if (node->type == DOC_NULL) {
        decode_error(decoder, node, object_field_null);
        return NULL;
    }
    int r = counted(decoder, doc_expect(decoder->document, node, type, decoder->errors));
    return r > 0 ? node : NULL;
}

const struct doc *decode_map(struct decoder *decoder, const struct doc *node)
{
    return decode_container(decoder, node, DOC_MAP);
}

const struct doc *decode_list(struct decoder *decoder, const struct doc *node)
{
    return decode_container(decoder, node, DOC_LIST);
}

const char *decode_string(struct decoder *decoder, const struct doc *node)
{
    const char *text = decode_text(decoder, node);
    return decode_keep(decoder, text ? text : "");
}

static void unknown_word(struct decoder *decoder, const struct doc *node, const char *text,
                         const char *const *words)
{
    char quoted[QUOTE_LEN];
    AUTOTEXT struct text known = { 0 };
    for (size_t i = 0; words[i]; i++)
        text_addf(&known, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    decode_error(decoder, node, object_word_unknown, .word = quote(text, quoted),
                 .expected = text_str(&known));
}

int decode_word(struct decoder *decoder, const struct doc *node, const char *const *words)
{
    const char *text = decode_text(decoder, node);
    if (!text || !*text)
        return 0;
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
    }
    unknown_word(decoder, node, text, words);
    return 0;
}

enum protocol decode_protocol(struct decoder *decoder, const struct doc *node)
{
    static const char *const words[] = { "TCP", "UDP", "SCTP", NULL };
    static const enum protocol protocols[] = { PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_SCTP };
    return protocols[decode_word(decoder, node, words)];
}

const struct doc *decode_need(struct decoder *decoder, const struct doc *map, const char *key)
{
    const struct doc *member = doc_get(map, key);
    if (!member)
        decode_error(decoder, map, object_field_missing, .field = key);
    return member;
}

const struct doc *decode_member(const struct doc *map, const char *key)
{
    if (!map || map->type != DOC_MAP)
        return NULL;
    doc_each(member, map) {
        if (strcmp(member->key, key) == 0)
            return member;
    }
    return NULL;
}

/* Wrong types are errors that the metadata's decoder reports. */
const char *decode_label(const struct decoder *decoder, const char *key)
{
    const struct doc *metadata = doc_get(decoder->document->root, "metadata");
    const struct doc *label = decode_member(doc_get(metadata, "labels"), key);
    if (!label)
        return NULL;
    return label->type == DOC_SCALAR ? label->text : "";
}

const struct doc *decode_annotation(const struct decoder *decoder, const char *key)
{
    const struct doc *metadata = doc_get(decoder->document->root, "metadata");
    return doc_get(doc_get(metadata, "annotations"), key);
}

int decode_annotated_number(struct decoder *decoder, const struct doc *node, int min, int max,
                            const char *taken_as)
{
    const char *text = decode_text(decoder, node);
    if (!text)
        return -1;
    char *end;
    long number = strtol(text, &end, 10);
    bool digits = *text >= '0' && *text <= '9' && *end == '\0';
    if (digits && number >= min && number <= max)
        return (int)number;
    decode_warning(decoder, node, object_number_replaced, .min = min, .max = max,
                   .taken = taken_as);
    return -1;
}

bool decode_ip(struct decoder *decoder, const struct doc *node, struct ip *ret_ip)
{
    char quoted[QUOTE_LEN];
    const char *text = decode_text(decoder, node);
    if (!text || !*text)
        return false;

    struct ip ip;
    if (ip_parse(text, &ip) < 0) {
        decode_warning(decoder, node, object_address_unreadable, .text = quote(text, quoted));
        return false;
    }
    if (ip_is_special(&ip)) {
        decode_warning(decoder, node, object_address_special, .text = quote(text, quoted));
        return false;
    }
    *ret_ip = ip;
    return true;
}

bool decode_prefix(struct decoder *decoder, const struct doc *node, enum ip_family family,
                   struct prefix *ret_prefix)
{
    char quoted[QUOTE_LEN], canonical[PREFIX_STRLEN];
    if (!node)
        return false;
    const char *text = node->type == DOC_NULL ? "" : decode_text(decoder, node);
    if (!text)
        return false;

    struct prefix prefix;
    int r = prefix_parse(text, &prefix);
    if (r < 0 || (family != IP_NONE && prefix.ip.family != family)) {
        decode_error(decoder, node, object_prefix_unreadable, .text = quote(text, quoted),
                     .family = family == IP_V4   ? "IPv4"
                               : family == IP_V6 ? "IPv6"
                                                 : "IP");
        return false;
    }
    if (r > 0) {
        decode_warning(decoder, node, object_host_bits, .text = quote(text, quoted),
                       .network = prefix_str(&prefix, canonical));
    }
    *ret_prefix = prefix;
    return true;
}

/* The text without blanks around it, as Kubernetes reads it; false if it is too long for a CIDR. */
static bool trim(const char *text, char trimmed[static PREFIX_STRLEN + IP_STRLEN])
{
    static const char blanks[] = " \t\n\v\f\r";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    if (length >= PREFIX_STRLEN + IP_STRLEN)
        return false;
    memcpy(trimmed, text, length);
    trimmed[length] = '\0';
    return true;
}

bool decode_cidr(struct decoder *decoder, const struct doc *node, struct prefix *ret_prefix)
{
    char trimmed[PREFIX_STRLEN + IP_STRLEN], quoted[QUOTE_LEN], canonical[PREFIX_STRLEN];
    const char *text = node->type == DOC_NULL ? "" : decode_text(decoder, node);
    struct prefix prefix;
    if (!text)
        return false;
    int r = trim(text, trimmed) ? prefix_parse(trimmed, &prefix) : -1;
    if (r < 0) {
        decode_warning(decoder, node, object_cidr_unreadable, .text = quote(text, quoted));
        return false;
    }
    if (r > 0) {
        decode_warning(decoder, node, object_host_bits, .text = quote(trimmed, quoted),
                       .network = prefix_str(&prefix, canonical));
    }
    *ret_prefix = prefix;
    return true;
}

static int place_cmp(const void *a, const void *b, void *compare)
{
    const void *const *left = a, *const *right = b;
    int r = (*(compare_fn *)compare)(*left, *right);
    return r ? r : CMP((const char *)*left, (const char *)*right);
}

int mark_duplicates(const void *items, size_t count, size_t size, compare_fn compare,
                    bool *ret_marks)
{
    if (count == 0)
        return 0;
    AUTOFREE const void **order = reallocarray(NULL, count, sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        order[i] = (const char *)items + i * size;
    qsort_r(order, count, sizeof(*order), place_cmp, &compare);

    for (size_t i = 0; i < count; i++) {
        size_t place = (size_t)((const char *)order[i] - (const char *)items) / size;
        ret_marks[place] = i > 0 && compare(order[i - 1], order[i]) == 0;
    }
    return 0;
}
