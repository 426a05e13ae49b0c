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
#include "model/fields/encode_member.h"
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

static void decode_families(struct decoder *decoder, const struct doc *spec,
                            struct address_request *request)
{
    static const char *const policies[] = { "SingleStack", "PreferDualStack", "RequireDualStack",
                                            NULL };
    static const char *const families[] = { "IPv4", "IPv6", NULL };
    request->policy =
        (enum family_policy)decode_word(decoder, doc_get(spec, "ipFamilyPolicy"), policies);
    doc_each(family, decode_list(decoder, doc_get(spec, "ipFamilies"))) {
        bool v6 = decode_word(decoder, family, families) == 1;
        request->v6 |= v6;
        request->v4 |= !v6;
    }
}

void service_request_decode(struct decoder *decoder, const struct doc *spec,
                            struct address_request *request)
{
    decode_addresses(decoder, spec, request);
    request->pool = keep_annotation(decoder, ADDRESS_POOL);
    request->sharing_key = keep_annotation(decoder, ALLOW_SHARED_IP);
    if (request->sharing_key)
        request->selector =
            decode_label_map(decoder, doc_get(spec, "selector"), &request->selector_count);
    decode_families(decoder, spec, request);
}

bool service_requests_have_one_selector(const struct address_request *a,
                                        const struct address_request *b)
{
    return labels_equal(a->selector, a->selector_count, b->selector, b->selector_count);
}

bool service_request_equal(const struct address_request *a, const struct address_request *b)
{
    return ips_equal(a->addresses, a->address_count, b->addresses, b->address_count) &&
           a->unreadable == b->unreadable && text_equal(a->pool, b->pool) &&
           text_equal(a->sharing_key, b->sharing_key) && service_requests_have_one_selector(a, b) &&
           a->v4 == b->v4 && a->v6 == b->v6 && a->policy == b->policy;
}

/* What could not be read is written as something that can't be, so that it stays so. */
void service_request_encode_annotations(const struct address_request *request, struct json *json)
{
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

void service_request_encode(const struct address_request *request, struct json *json)
{
    if (request->v4 || request->v6) {
        json_begin_array(json, "ipFamilies");
        if (request->v4)
            json_string(json, NULL, "IPv4");
        if (request->v6)
            json_string(json, NULL, "IPv6");
        json_end_array(json);
    }
    if (request->selector_count) {
        json_begin_object(json, "selector");
        encode_labels(json, request->selector, request->selector_count);
        json_end_object(json);
    }
    if (request->policy != FAMILY_SINGLE)
        json_string(json, "ipFamilyPolicy",
                    request->policy == FAMILY_REQUIRE_DUAL ? "RequireDualStack"
                                                           : "PreferDualStack");
}
