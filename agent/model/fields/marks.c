// SPDX-License-Identifier: Apache-2.0
/*
 * The annotations and labels that are read, by kind; see marks.h.
 *
 * Anybody may write any of them, so the API never refuses one: who misspells it, gives it to
 * another object, or writes an annotation among the labels, is told nothing by anybody else. Labels
 * and annotations of others are none of our business, except where they are nearly one that we
 * read.
 */
#include "model/fields/marks.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "format/quote.h"
#include "model/fields/spelling.h"

#define OURS     "fingerpost.io"
#define METALLB  "metallb.io"
#define METALLB0 "metallb.universe.tf"
#define EXPORTER "kube-service-exporter.github.com"

enum { PREFIX_MAX = 64, KEY_MAX = 128 };

struct mark {
    const char *prefix, *name; /* NULL: whatever name */
    const char *kind;          /* of the objects at which it counts */
};

static const struct mark annotations[] = {
    { OURS, "announce", "Service" },
    { OURS, "route-class", "Service" },
    { OURS, "export-addresses", "Service" },
    { OURS, "loadBalancerIPs", "Service" },
    { OURS, "address-pool", "Service" },
    { OURS, "allow-shared-ip", "Service" },
    { OURS, "gateway-nodes", "Egress" },
    { OURS, "reserved", "IPAddressPool" },
    { OURS, "mtu", "AddressPool" },
    { OURS, "agentd.yaml", "Pod" },
    { METALLB, "loadBalancerIPs", "Service" },
    { METALLB, "address-pool", "Service" },
    { METALLB, "allow-shared-ip", "Service" },
    { METALLB0, "loadBalancerIPs", "Service" },
    { METALLB0, "address-pool", "Service" },
    { METALLB0, "allow-shared-ip", "Service" },
    { EXPORTER, "exported", "Service" },
    { EXPORTER, "load-balancer-dns-name", "Service" },
    { EXPORTER, "load-balancer-proxy-protocol", "Service" },
    { EXPORTER, "load-balancer-class", "Service" },
    { EXPORTER, "load-balancer-backend-protocol", "Service" },
    { EXPORTER, "load-balancer-listen-port", "Service" },
    { EXPORTER, "load-balancer-health-check-path", "Service" },
    { EXPORTER, "load-balancer-health-check-port", "Service" },
    { EXPORTER, "load-balancer-service-per-cluster", "Service" },
    { EXPORTER, "custom-attrs", "Service" },
    { EXPORTER, "id-prefix", "Service" },
    { EXPORTER, "ingress-service-namespace", "Service" },
    { EXPORTER, "ingress-service-name", "Service" },
    { EXPORTER, "ingress-service-port-name", "Service" },
    { EXPORTER, "pretend-ready-until", "Node" },
    { "egress.coil.cybozu.com", NULL, "Pod" },
    { "coil.cybozu.com", "pool", "Namespace" },
};

static const struct mark labels[] = {
    { "service.kubernetes.io", "service-proxy-name", "Service" },
    { "service.kubernetes.io", "headless", "Service" },
    { "kubernetes.io", "service-name", "EndpointSlice" },
    { "node.kubernetes.io", "exclude-from-external-load-balancers", "Node" },
    { "topology.kubernetes.io", "zone", "Node" },
    { "coil.cybozu.com", "pool", "AddressBlock" },
    { "coil.cybozu.com", "node", "AddressBlock" },
    { "coil.cybozu.com", "reserved", "AddressBlock" },
};

/* One of the two lists. */
struct list {
    const struct mark *marks;
    size_t count;
};

static const struct list annotation_list = { annotations, ARRAY_SIZE(annotations) };
static const struct list label_list = { labels, ARRAY_SIZE(labels) };

/* A key's two parts; `name` is NULL where there is no slash. */
struct key {
    char prefix[PREFIX_MAX];
    const char *name;
};

static struct key split(const char *text)
{
    const char *slash = strchr(text, '/');
    struct key key = { .name = slash ? slash + 1 : NULL };
    if (slash && slash - text < PREFIX_MAX)
        memcpy(key.prefix, text, (size_t)(slash - text));
    return key;
}

static bool counts_at(const struct mark *mark, const char *kind)
{
    return strcmp(mark->kind, kind) == 0;
}

static bool is_mark(const struct mark *mark, const struct key *key)
{
    return key->name && strcmp(key->prefix, mark->prefix) == 0 &&
           (!mark->name || strcmp(key->name, mark->name) == 0);
}

static bool is_nearly(const char *word, const char *ours)
{
    return strcmp(word, ours) == 0 || spelled_like(word, ours);
}

/* The mark that a key is, at whatever object; NULL: none. */
static const struct mark *find(const struct list *list, const struct key *key)
{
    for (size_t i = 0; i < list->count; i++) {
        if (is_mark(&list->marks[i], key))
            return &list->marks[i];
    }
    return NULL;
}

/* The mark that was meant: the same name under the prefix comes before a name that is like it. */
static const struct mark *find_meant(const struct list *list, const struct key *key,
                                     const char *kind)
{
    const struct mark *meant = NULL;
    const char *prefix = NULL; /* of the mark before, and whether the key's is nearly that */
    bool nearly = false;
    for (size_t i = 0; key->name && i < list->count; i++) {
        const struct mark *mark = &list->marks[i];
        if (!prefix || strcmp(prefix, mark->prefix) != 0) {
            prefix = mark->prefix;
            nearly = is_nearly(key->prefix, prefix);
        }
        if (!nearly || (!counts_at(mark, kind) && strcmp(mark->prefix, OURS) != 0) ||
            (mark->name && !is_nearly(key->name, mark->name)))
            continue;
        if (!meant || (mark->name && strcmp(key->name, mark->name) == 0))
            meant = mark;
    }
    return meant;
}

static bool is_ours(const struct key *key)
{
    return key->name && is_nearly(key->prefix, OURS);
}

static const char *mark_key(const struct mark *mark, char key[static KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s/%s", mark->prefix, mark->name ? mark->name : "NAMESPACE");
    return key;
}

/* Slices get the labels of their Service, and the annotations of Endpoints, from Kubernetes. */
static void check_annotation(struct decoder *decoder, const char *kind, const struct doc *member)
{
    const struct key key = split(member->key);
    const struct mark *mark = find(&annotation_list, &key);
    const struct mark *label = find(&label_list, &key);
    if (mark && !counts_at(mark, kind) && is_ours(&key) && strcmp(kind, "EndpointSlice") != 0)
        decode_warning(decoder, member, object_annotation_misplaced, .kind = mark->kind);
    else if (label && counts_at(label, kind))
        decode_warning(decoder, member, object_annotation_is_label);
    if (mark || label)
        return;
    const struct mark *meant = find_meant(&annotation_list, &key, kind);
    char name[QUOTE_LEN], wanted[KEY_MAX];
    if (meant)
        decode_warning(decoder, member, object_annotation_misspelt,
                       .name = quote(member->key, name), .meant = mark_key(meant, wanted));
    else if (is_ours(&key))
        decode_warning(decoder, member, object_annotation_unknown,
                       .name = quote(member->key, name));
}

static void check_label(struct decoder *decoder, const char *kind, const struct doc *member)
{
    const struct key key = split(member->key);
    const struct mark *annotation = find(&annotation_list, &key);
    if (annotation && counts_at(annotation, kind))
        decode_warning(decoder, member, object_label_is_annotation);
    if (annotation || find(&label_list, &key))
        return;
    const struct mark *meant = find_meant(&label_list, &key, kind);
    char name[QUOTE_LEN], wanted[KEY_MAX];
    if (meant)
        decode_warning(decoder, member, object_label_misspelt, .name = quote(member->key, name),
                       .meant = mark_key(meant, wanted));
}

void marks_check(struct decoder *decoder, const char *kind, const struct doc *metadata)
{
    doc_each(member, decode_map(decoder, doc_get(metadata, "annotations")))
        check_annotation(decoder, kind, member);
    const struct doc *list = doc_get(metadata, "labels"); /* its type has been looked at */
    doc_each(member, list && list->type == DOC_MAP ? list : NULL)
        check_label(decoder, kind, member);
}
