// SPDX-License-Identifier: Apache-2.0
/*
 * Endpoints become EndpointSlices; see endpoints.h. A slice has one set of ports and one address
 * family, so each subset becomes one or two. They are decoded one after the other, after a look at
 * the whole that finds every error and gives nothing.
 *
 * Whether other slices of the Service come first is the store's business (store_slices_of()).
 */
#include "model/services/endpoints.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/kind.h"
#include "model/services/slice_parts.h"

enum { SUBSETS_MAX = 1000, SERVICE_NAME_MAX = 63 };

/* Parts of a document: the whole, then for each subset its IPv4 and its IPv6 slice. */
enum { PART_WHOLE = 0 };

static uint32_t part_of(uint32_t subset, bool v6)
{
    return 1 + 2 * subset + v6;
}

static bool is_of(const struct ip *ip, uint8_t family)
{
    return family == IP_NONE || ip->family == family;
}

/* Addresses of one family (IP_NONE: of both) at the end of the slice's. */
static void take_addresses(struct decoder *decoder, const struct doc *list, bool ready,
                           struct endpoint_slice *slice, struct endpoint *endpoints)
{
    doc_each(node, list) {
        struct ip ip;
        if (!decode_map(decoder, node) ||
            !decode_ip(decoder, decode_need(decoder, node, "ip"), &ip))
            continue;
        const char *name = decode_string(decoder, doc_get(node, "nodeName"));
        if (is_of(&ip, slice->family))
            endpoints[slice->endpoint_count++] =
                (struct endpoint){ .ip = ip, .ready = ready, .serving = ready, .node_name = name };
    }
}

static const struct field address_fields[] = { END("ip hostname nodeName targetRef") };

static const struct field subset_fields[] = {
    { "addresses", .fields = address_fields, .listed = true },
    { "ports", &field_list, ITEMS(struct endpoint_slice, ports, port_count),
      .fields = slice_port_fields },
    END("notReadyAddresses"),
};

static const struct field fields[] = {
    { "subsets", .fields = subset_fields, .listed = true },
    END("apiVersion kind metadata"),
};

static void decode_subset(struct decoder *decoder, const struct doc *subset,
                          struct endpoint_slice *slice)
{
    const struct doc *good = decode_list(decoder, doc_get(subset, "addresses"));
    const struct doc *rest = decode_list(decoder, doc_get(subset, "notReadyAddresses"));
    const struct doc *ports = doc_get(subset, "ports");
    struct endpoint *endpoints = decode_alloc(
        decoder, (good ? good->count : 0) + (rest ? rest->count : 0), sizeof(*endpoints));
    slice->port_count = slice->endpoint_count = 0;
    if (endpoints) {
        take_addresses(decoder, good, true, slice, endpoints);
        take_addresses(decoder, rest, false, slice, endpoints);
    }
    slice->endpoints = endpoints;
    doc_each(port, ports && ports->type == DOC_LIST ? ports : NULL)
        (void)decode_need(decoder, decode_map(decoder, port), "port");
    (void)fields_decode(decoder, subset, subset_fields, slice);
}

/* Of the whole every subset is decoded, each over the one before. */
static void decode_part(struct decoder *decoder, const struct doc *subsets,
                        struct endpoint_slice *slice)
{
    uint32_t index = 0;
    doc_each(subset, subsets) {
        const uint32_t part = part_of(index++, slice->family == IP_V6);
        if ((decoder->part == PART_WHOLE || decoder->part == part) && decode_map(decoder, subset))
            decode_subset(decoder, subset, slice);
    }
}

/* The slice's name, which no Endpoints can have: "db.endpoints-1-v4", counted from 1. */
static const char *make_name(struct decoder *decoder, const char *name, uint32_t part, bool v6)
{
    const size_t size = strlen(name) + sizeof(".endpoints-4294967295-v4");
    char *text = decode_alloc(decoder, size, 1);
    if (text)
        (void)snprintf(text, size, "%s.endpoints-%u-v%c", name, (part + 1) / 2, v6 ? '6' : '4');
    return text ? text : "";
}

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct endpoint_slice *slice = (struct endpoint_slice *)object;
    const struct doc *subsets = decode_list(decoder, doc_get(root, "subsets"));
    const bool v6 = decoder->part != PART_WHOLE && decoder->part % 2 == 0;
    slice->service = object->name;
    slice->source = SLICE_ENDPOINTS;
    slice->family = decoder->part == PART_WHOLE ? IP_NONE : v6 ? IP_V6 : IP_V4;
    if (strlen(object->name) > SERVICE_NAME_MAX)
        decode_error(decoder, doc_get(doc_get(root, "metadata"), "name"), endpoints_name_too_long,
                     .max = SERVICE_NAME_MAX);
    if (subsets && subsets->count > SUBSETS_MAX)
        decode_error(decoder, subsets, object_list_too_long, .max = SUBSETS_MAX, .what = "subsets");
    else
        decode_part(decoder, subsets, slice);
    object->name = make_name(decoder, object->name, decoder->part, v6);
}

static const struct kind_row row = {
    .name = "Endpoints",
    .namespaced = true,
    .size = sizeof(struct endpoint_slice),
    .fields = fields,
    .decode = decode,
};

static bool is_text(const struct doc *node, const char *text)
{
    return node && node->type == DOC_SCALAR && strcmp(node->text, text) == 0;
}

/* As the API's mirroring has it, and of those of a controller, who writes slices himself. */
static bool counts(const struct doc *root)
{
    const struct doc *metadata = doc_get(root, "metadata");
    const struct doc *notes = doc_get(metadata, "annotations");
    const struct doc *tags = doc_get(metadata, "labels");
    return is_text(doc_get(root, "apiVersion"), "v1") &&
           is_text(doc_get(root, "kind"), "Endpoints") &&
           !doc_get(notes, "endpoints.kubernetes.io/last-change-trigger-time") &&
           !doc_get(notes, "control-plane.alpha.kubernetes.io/leader") &&
           !doc_get(tags, "endpoints.kubernetes.io/managed-by") &&
           !is_text(doc_get(tags, "endpointslice.kubernetes.io/skip-mirror"), "true");
}

/* Warnings are told once, of the whole. */
static int decode_slice(const struct document *document, uint32_t part, struct object **ret_slice,
                        struct faults *errors, struct faults *warnings)
{
    AUTOFAULTS struct faults known = { 0 };
    return object_decode_by(document, KIND_ENDPOINT_SLICE, &row, part, ret_slice, errors,
                            part == PART_WHOLE ? warnings : &known);
}

static int give_slice(const struct document *document, uint32_t part, endpoints_give_fn give,
                      void *context, struct faults *errors, struct faults *warnings)
{
    struct object *slice = NULL;
    int r = decode_slice(document, part, &slice, errors, warnings);
    if (r < 0)
        return r;
    if (part != PART_WHOLE && to_endpoint_slice(slice)->endpoint_count > 0)
        r = give(context, slice);
    else
        object_free(slice);
    return r < 0 ? r : 0;
}

int endpoints_decode(const struct document *document, endpoints_give_fn give, void *context,
                     struct faults *errors, struct faults *warnings)
{
    if (!counts(document->root))
        return 0;
    const struct doc *subsets = doc_get(document->root, "subsets");
    const uint32_t last =
        subsets && subsets->count ? part_of(subsets->count - 1, true) : PART_WHOLE;
    for (uint32_t part = PART_WHOLE; part <= last; part++) {
        int r = give_slice(document, part, give, context, errors, warnings);
        if (r < 0)
            return r;
    }
    return 1;
}
