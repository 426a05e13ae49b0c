// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a Service that asks for addresses: which ones, out of which pool, shared with whom,
 * of which families. Called by service.c; plan/ gives addresses by what is read here.
 *
 * MetalLB has used two groups for its annotations, and we have our own; a cluster that changes over
 * may have several of them on one Service. The first that is there counts, and one that says
 * something else is a warning. A request that can't be read is no lack of a request: the Service
 * would get an address that its owner did not mean, so it gets none.
 */
#include "model/services/service_request.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "format/quote.h"
#include "model/fields/equal.h"
#include "model/fields/labels.h"

#define LOAD_BALANCER_IPS "loadBalancerIPs"
#define ADDRESS_POOL      "address-pool"
#define ALLOW_SHARED_IP   "allow-shared-ip"
#define OURS              "fingerpost.io/"

enum { KEY_MAX = 64 };

/* The node of an annotation in the first of the groups that has it, and not empty; NULL: none. */
static const struct doc *find_annotation(struct decoder *decoder, const char *name)
{
    static const char *const groups[] = { OURS, "metallb.io/", "metallb.universe.tf/" };
    const struct doc *found = NULL;
    char quoted[QUOTE_LEN];
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        char key[KEY_MAX];
        snprintf(key, sizeof(key), "%s%s", groups[i], name);
        const struct doc *node = decode_annotation(decoder, key);
        const char *text = decode_text(decoder, node);
        if (!text || !*text)
            continue;
        if (!found)
            found = node;
        else if (strcmp(text, found->text) != 0)
            decode_warning(decoder, node, object_field_overruled, .text = quote(text, quoted),
                           .other = found->key);
    }
    return found;
}

static const char *keep_annotation(struct decoder *decoder, const char *name)
{
    const struct doc *node = find_annotation(decoder, name);
    return node ? decode_keep(decoder, node->text) : NULL;
}

static bool is_wished(const struct address_request *request, const struct ip *ip)
{
    for (uint32_t i = 0; i < request->address_count; i++) {
        if (ip_equal(&request->addresses[i], ip))
            return true;
    }
    return false;
}

/* The next address of a list with commas: a copy without blanks. What is longer than any address is
 * none: cut off, it could be another one. */
static void copy_part(const char *text, size_t length, char part[static IP_STRLEN])
{
    static const char blanks[] = " \t\r\n";
    size_t before = strspn(text, blanks);
    before = MIN(before, length);
    text += before;
    length -= before;
    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    if (length >= IP_STRLEN)
        length = 0;
    memcpy(part, text, length);
    part[length] = '\0';
}

static void decode_list_of_ips(struct decoder *decoder, const struct doc *node, const char *text,
                               struct address_request *request)
{
    struct ip *addresses = decode_alloc(decoder, WISHED_ADDRESSES_MAX, sizeof(*addresses));
    if (!addresses)
        return;
    request->addresses = addresses;
    for (const char *end = text + strlen(text); text <= end;) {
        char part[IP_STRLEN], quoted[QUOTE_LEN];
        struct ip ip;
        size_t length = strcspn(text, ",");
        copy_part(text, length, part);
        text += length + 1;
        if (ip_parse_strict(part, &ip) < 0 || ip_is_special(&ip)) {
            request->unreadable = true;
            decode_warning(decoder, node, service_address_unusable, .address = quote(part, quoted));
        } else if (is_wished(request, &ip)) {
            continue;
        } else if (request->address_count == WISHED_ADDRESSES_MAX) {
            request->unreadable = true;
            decode_warning(decoder, node, service_addresses_too_many);
            return;
        } else {
            addresses[request->address_count++] = ip;
        }
    }
}

static void decode_addresses(struct decoder *decoder, const struct doc *spec,
                             struct address_request *request)
{
    const struct doc *node = find_annotation(decoder, LOAD_BALANCER_IPS);
    const struct doc *field = doc_get(spec, "loadBalancerIP");
    const char *old = decode_text(decoder, field);
    char quoted[QUOTE_LEN];
    if (node) {
        decode_list_of_ips(decoder, node, node->text, request);
        if (old && *old && strcmp(old, node->text) != 0)
            decode_warning(decoder, field, object_field_overruled, .text = quote(old, quoted),
                           .other = node->key);
    } else if (old && *old) {
        decode_list_of_ips(decoder, field, old, request);
    }
}

static DECODE_FIELD(decode_request, annotations)
{
    struct address_request *request = &((struct service *)base)->request;
    decode_addresses(decoder, doc_get(decoder->document->root, "spec"), request);
    request->pool = keep_annotation(decoder, ADDRESS_POOL);
    request->sharing_key = keep_annotation(decoder, ALLOW_SHARED_IP);
    return true;
}

static EQUAL_FIELD(request_equal)
{
    const struct address_request *left = &to_service(a)->request, *right = &to_service(b)->request;
    return ips_equal(left->addresses, left->address_count, right->addresses,
                     right->address_count) &&
           left->unreadable == right->unreadable && text_equal(left->pool, right->pool) &&
           text_equal(left->sharing_key, right->sharing_key);
}

/* What could not be read is written as something that can't be, so that it stays so. */
static ENCODE_FIELD(encode_request)
{
    const struct address_request *request = &to_service(base)->request;
    AUTOTEXT struct text list = { 0 };
    for (uint32_t i = 0; i < request->address_count; i++) {
        char buffer[IP_STRLEN];
        text_addf(&list, "%s%s", i ? "," : "", ip_str(&request->addresses[i], buffer));
    }
    if (request->unreadable)
        text_addf(&list, "%s%s", request->address_count ? "," : "", "unusable");
    if (request->address_count || request->unreadable)
        json_string(json, OURS LOAD_BALANCER_IPS, text_str(&list));
    if (request->pool)
        json_string(json, OURS ADDRESS_POOL, request->pool);
    if (request->sharing_key)
        json_string(json, OURS ALLOW_SHARED_IP, request->sharing_key);
    json->out->failed |= list.failed;
}

const struct field_type service_request_type = { decode_request, request_equal, encode_request };

static DECODE_FIELD(decode_selector, node)
{
    struct address_request *request = &((struct service *)base)->request;
    if (request->sharing_key)
        request->selector = decode_label_map(decoder, node, &request->selector_count);
    return true;
}

bool service_requests_have_one_selector(const struct address_request *a,
                                        const struct address_request *b)
{
    return labels_equal(a->selector, a->selector_count, b->selector, b->selector_count);
}

static EQUAL_FIELD(selector_equal)
{
    return service_requests_have_one_selector(&to_service(a)->request, &to_service(b)->request);
}

static ENCODE_FIELD(encode_selector)
{
    const struct address_request *request = &to_service(base)->request;
    if (!request->selector_count)
        return;
    json_begin_object(json, field->key);
    encode_labels(json, request->selector, request->selector_count);
    json_end_object(json);
}

const struct field_type service_selector_type = { decode_selector, selector_equal,
                                                  encode_selector };

static DECODE_FIELD(decode_families, node)
{
    static const char *const families[] = { "IPv4", "IPv6", NULL };
    struct address_request *request = &((struct service *)base)->request;
    doc_each(family, decode_list(decoder, node)) {
        bool v6 = decode_word(decoder, family, families) == 1;
        request->v6 |= v6;
        request->v4 |= !v6;
    }
    return true;
}

static EQUAL_FIELD(families_equal)
{
    const struct address_request *left = &to_service(a)->request, *right = &to_service(b)->request;
    return left->v4 == right->v4 && left->v6 == right->v6;
}

static ENCODE_FIELD(encode_families)
{
    const struct address_request *request = &to_service(base)->request;
    if (!request->v4 && !request->v6)
        return;
    json_begin_array(json, field->key);
    if (request->v4)
        json_string(json, NULL, "IPv4");
    if (request->v6)
        json_string(json, NULL, "IPv6");
    json_end_array(json);
}

const struct field_type service_families_type = { decode_families, families_equal,
                                                  encode_families };
