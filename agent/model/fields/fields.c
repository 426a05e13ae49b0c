// SPDX-License-Identifier: Apache-2.0
/*
 * The fields that objects may have; see fields.h.
 *
 * Nobody has looked at a manifest before us: an `externalTrafficpolicy` there would be read as
 * none, and its Service be open to what it was to be closed to. The table below has, for the maps
 * from which we read, all that Kubernetes knows there, so that a field of its own is not taken for
 * a misspelt one of another name.
 *
 * The API server drops what it does not know of its own kinds, and of everybody's metadata: a field
 * that comes from it and is not in the table is one of a later Kubernetes, however it is spelt. So
 * of what the API says only custom resources are looked at, since a CRD may keep all that it gets.
 */
#include "model/fields/fields.h"

#include <string.h>

#include "base/macro.h"
#include "format/quote.h"
#include "model/fields/spelling.h"

enum { WORD_MAX = 64 };

struct field_rule {
    const char *kind; /* NULL: every one */
    const char *path; /* keys with dots between them, "*" for each of a list; "" is the root */
    const char *words;
};

#define TRAFFIC                                                                          \
    "externalTrafficPolicy internalTrafficPolicy sessionAffinity sessionAffinityConfig " \
    "trafficDistribution topologyKeys publishNotReadyAddresses healthCheckNodePort"
#define ADDRESSES                                                        \
    "clusterIP clusterIPs externalIPs loadBalancerIP loadBalancerClass " \
    "loadBalancerSourceRanges allocateLoadBalancerNodePorts ipFamilies ipFamilyPolicy"
#define ADVERTISED \
    "ipAddressPools ipAddressPoolSelectors serviceSelectors nodeSelectors preferredNodeSelectors"

static const struct field_rule rules[] = {
    { NULL, "metadata",
      "annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers "
      "generateName generation labels managedFields name namespace ownerReferences resourceVersion "
      "selfLink uid clusterName" },
    { "Service", "", "apiVersion kind metadata spec status" },
    { "Service", "spec", "type externalName selector ports " TRAFFIC " " ADDRESSES },
    { "Service", "spec.ports.*", "name protocol appProtocol port targetPort nodePort" },
    { "Service", "spec.sessionAffinityConfig", "clientIP" },
    { "Service", "spec.sessionAffinityConfig.clientIP", "timeoutSeconds" },
    { "Service", "status", "loadBalancer conditions" },
    { "Service", "status.loadBalancer", "ingress" },
    { "Service", "status.loadBalancer.ingress.*", "ip ipMode hostname ports" },
    { "EndpointSlice", "", "apiVersion kind metadata addressType endpoints ports" },
    { "EndpointSlice", "ports.*", "name protocol appProtocol port" },
    { "EndpointSlice", "endpoints.*",
      "addresses conditions deprecatedTopology hints hostname nodeName targetRef topology zone" },
    { "EndpointSlice", "endpoints.*.conditions", "ready serving terminating" },
    { "Endpoints", "", "apiVersion kind metadata subsets" },
    { "Endpoints", "subsets.*", "addresses notReadyAddresses ports" },
    { "Endpoints", "subsets.*.addresses.*", "ip hostname nodeName targetRef" },
    { "Endpoints", "subsets.*.ports.*", "name protocol appProtocol port" },
    { "Node", "", "apiVersion kind metadata spec status" },
    { "Node", "spec", "podCIDR podCIDRs taints unschedulable providerID externalID configSource" },
    { "Node", "status.addresses.*", "type address" },
    { "Pod", "", "apiVersion kind metadata spec status" },
    { "Pod", "spec",
      "nodeName nodeSelector hostNetwork hostname hostnameOverride hostPID hostIPC hostUsers "
      "hostAliases" },
    { "Pod", "status", "podIP podIPs hostIP hostIPs phase reason message" },
    { "AddressBlock", "", "apiVersion kind metadata index ipv4 ipv6 status" },
    { "AddressPool", "", "apiVersion kind metadata spec status" },
    { "AddressPool", "spec", "blockSizeBits subnets" },
    { "AddressPool", "spec.subnets.*", "ipv4 ipv6" },
    { "Egress", "", "apiVersion kind metadata spec status" },
    { "Egress", "spec",
      "destinations replicas strategy template sessionAffinity sessionAffinityConfig "
      "podDisruptionBudget fouSourcePortAuto" },
    { "IPAddressPool", "", "apiVersion kind metadata spec status" },
    { "IPAddressPool", "spec", "addresses autoAssign avoidBuggyIPs serviceAllocation" },
    { "IPAddressPool", "spec.serviceAllocation",
      "priority namespaces namespaceSelectors serviceSelectors" },
    { "BGPAdvertisement", "", "apiVersion kind metadata spec status" },
    { "BGPAdvertisement", "spec",
      ADVERTISED
      " communities localPref asPathPrepend peers aggregationLength aggregationLengthV6" },
    { "L2Advertisement", "", "apiVersion kind metadata spec status" },
    { "L2Advertisement", "spec", ADVERTISED " interfaces" },
};

/* What is looked at: a map, the rule of its place, and the kind whose rules these are. */
struct look {
    struct decoder *decoder;
    const struct field_rule *rule;
    const char *kind;
};

static bool is_for(const struct field_rule *rule, const char *kind)
{
    return !rule->kind || strcmp(rule->kind, kind) == 0;
}

/* The next of the words between blanks. False: there is none. */
static bool next_word(const char **words, char word[static WORD_MAX])
{
    *words += strspn(*words, " ");
    size_t length = strcspn(*words, " ");
    if (length == 0)
        return false;
    length = MIN(length, (size_t)WORD_MAX - 1);
    memcpy(word, *words, length);
    word[length] = '\0';
    *words += length;
    return true;
}

static bool has_word(const char *words, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = words; length && (at = strstr(at, key)); at += length) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool find_meant(const struct field_rule *rule, const char *key, char word[static WORD_MAX])
{
    for (const char *words = rule->words; next_word(&words, word);) {
        if (spelled_like(key, word))
            return true;
    }
    return false;
}

/* The rule of another map that has this field; NULL: none of this kind has. */
static const struct field_rule *find_place(const struct look *look, const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        if (&rules[i] != look->rule && is_for(&rules[i], look->kind) &&
            has_word(rules[i].words, key))
            return &rules[i];
    }
    return NULL;
}

static void check_member(const struct look *look, const struct doc *member)
{
    char key[QUOTE_LEN], word[WORD_MAX];
    if (has_word(look->rule->words, member->key))
        return;
    const struct field_rule *place = find_place(look, member->key);
    if (place)
        decode_warning(look->decoder, member, object_field_misplaced,
                       .field = quote(member->key, key),
                       .where = *place->path ? place->path : "the object itself");
    else if (find_meant(look->rule, member->key, word))
        decode_warning(look->decoder, member, object_field_unknown,
                       .field = quote(member->key, key), .meant = word);
}

/* Goes down the path, and looks at each map at its end. */
static void check_below(const struct look *look, const struct doc *node, const char *path)
{
    const size_t length = strcspn(path, ".");
    const char *rest = path[length] ? path + length + 1 : "";
    if (!node || (node->type != DOC_MAP && node->type != DOC_LIST))
        return;
    doc_each(child, node) {
        if (!*path && node->type == DOC_MAP)
            check_member(look, child);
        else if (node->type == DOC_LIST
                     ? *path == '*'
                     : strncmp(child->key, path, length) == 0 && !child->key[length])
            check_below(look, child, rest);
    }
}

/* Kubernetes' own groups have no dot, or end with this; so does none of ours that has a CRD. */
static bool is_custom(const struct kind_row *row)
{
    const char *dot = strchr(row->api_version, '.');
    return dot && !strstr(dot, ".k8s.io/");
}

void fields_check(struct decoder *decoder, const struct kind_row *row)
{
    const bool written = decode_is_manifest(decoder);
    if (decoder->silent || (!written && !is_custom(row)))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        const struct look look = { decoder, &rules[i], row->name };
        if (is_for(&rules[i], row->name) && (written || rules[i].kind))
            check_below(&look, decoder->document->root, rules[i].path);
    }
}
