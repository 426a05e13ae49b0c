// SPDX-License-Identifier: Apache-2.0
/*
 * Objects that are written and read back say the same. Each kind is a document with slots, one for
 * each field or word that decoders know, and what may stand there. Every word by itself must make
 * another object (else it would test nothing) that survives the way; so must random mixtures.
 */
#include "base/macro.h"
#include "decoded.h"
#include "model/fields/encode.h"

enum { SLOTS_MAX = 32, WORDS_MAX = 8, MIXTURES = 500 };

/* A slot: words that may stand there, the first as the usual one. */
struct slot {
    const char *words[WORDS_MAX];
};

struct shape {
    const char *head; /* in front of the slots */
    struct slot slots[SLOTS_MAX];
};

#define OF_EGRESS                                                         \
    "app.kubernetes.io/name: coil, app.kubernetes.io/component: egress, " \
    "app.kubernetes.io/instance: e"

#define ASSIGNED "{type: fingerpost.io/AddressAssigned, status: 'True', reason: Assigned}"
#define REFUSED(why)                                                                      \
    "{type: fingerpost.io/Exported, status: 'False', reason: Refused, message: " why ", " \
    "lastTransitionTime: '2026-11-20T07:33:00Z'}"

static const struct shape shapes[] = {
    { "apiVersion: v1\nkind: Service\n",
      { { { "metadata: {name: a", "metadata: {name: b.c" } },
        { { ", namespace: shop", ", namespace: default" } },
        { { "", ", creationTimestamp: '2026-11-20T07:33:00Z'",
            ", creationTimestamp: '2026-11-20T07:33:00.257Z'",
            ", creationTimestamp: '1969-12-31T23:59:58.999Z'",
            ", creationTimestamp: '0000-01-01T00:00:00Z'" } },
        { { "", ", deletionTimestamp: '2026-11-20T07:33:00Z'",
            ", deletionTimestamp: '2026-11-20T07:33:01Z'", ", deletionTimestamp: 'soon'" } },
        { { "", ", uid: 0d3c-7", ", uid: 0d3c-8" } },
        { { "", ", finalizers: [a.b/c]", ", finalizers: [a.b/c, d]" } },
        { { "", ", ownerReferences: [{kind: Egress, name: e, uid: u, controller: true}]",
            ", ownerReferences: [{kind: Pod, name: p, uid: u}]",
            ", ownerReferences: [{kind: Pod, name: p, uid: v}]",
            ", ownerReferences: [{kind: Pod, name: p, uid: u, controller: true}]",
            ", ownerReferences: [{kind: Pod, name: p, uid: u}, {kind: Pod, name: q, uid: u}]" } },
        { { ", labels: {a: b", ", labels: {service.kubernetes.io/headless: ''",
            ", labels: {service.kubernetes.io/service-proxy-name: ''", ", labels: {a: c, d: ''",
            ", labels: {service.kubernetes.io/service-proxy-name: \"o\\\"\\u00e4\\n\"" } },
        { { "}, annotations: {a: b", "}, annotations: {fingerpost.io/announce: 'false'",
            "}, annotations: {fingerpost.io/route-class: '0'",
            "}, annotations: {fingerpost.io/route-class: '29'",
            "}, annotations: {fingerpost.io/loadBalancerIPs: '10.1.0.1, 2001:db8::7,10.1.0.1'",
            "}, annotations: {metallb.io/loadBalancerIPs: 'wrong,10.1.0.1'" } },
        { { "", ", metallb.universe.tf/address-pool: lb" } },
        { { "", ", kube-service-exporter.github.com/exported: 'true'",
            ", kube-service-exporter.github.com/exported: '1', "
            "kube-service-exporter.github.com/custom-attrs: '{\"a\": [1]}'",
            ", kube-service-exporter.github.com/exported: '1', "
            "kube-service-exporter.github.com/id-prefix: ''",
            ", kube-service-exporter.github.com/exported: '1', "
            "fingerpost.io/export-addresses: pods" } },
        { { "", ", metallb.io/allow-shared-ip: key", ", metallb.io/allow-shared-ip: 'k'" } },
        { { "}}\nspec: {type: ClusterIP", "}}\nspec: {type: NodePort",
            "}}\nspec: {type: LoadBalancer", "}}\nspec: {type: ExternalName" } },
        { { ", clusterIPs: [10.0.0.9]", ", clusterIPs: [10.0.0.9, 'fd00::9']",
            ", clusterIPs: ['fd00::9', 10.0.0.9]", ", clusterIP: None", ", clusterIP: wrong",
            ", clusterIPs: [None, 10.0.0.9]" } },
        { { "", ", externalIPs: [192.0.2.7, '2001:db8::1']" } },
        { { ", ports: [{port: 80}]", ", ports: [{port: 443}]", ", ports: [{port: 80, name: b}]",
            ", ports: [{port: 80, protocol: UDP}, {port: 80, protocol: SCTP}]",
            ", ports: [{port: 80, nodePort: 30080}]" } },
        { { "", ", externalTrafficPolicy: Local" } },
        { { "", ", ipFamilies: [IPv4]", ", ipFamilies: [IPv6, IPv4]", ", ipFamilies: [IPv6]" } },
        { { "", ", ipFamilyPolicy: PreferDualStack", ", ipFamilyPolicy: RequireDualStack" } },
        { { "", ", internalTrafficPolicy: Local" } },
        { { "", ", sessionAffinity: ClientIP",
            ", sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}" } },
        { { "", ", loadBalancerSourceRanges: [198.51.100.0/24, '2001:db8::/32']" } },
        { { "", ", healthCheckNodePort: 30099" } },
        { { "", ", loadBalancerClass: ''", ", loadBalancerClass: example.com/lb" } },
        { { "}\nstatus: {loadBalancer: {ingress: [",
            "}\nstatus: {loadBalancer: {ingress: [{ip: 10.1.0.1}",
            "}\nstatus: {loadBalancer: {ingress: [{ip: 10.1.0.1, ipMode: Proxy}",
            "}\nstatus: {loadBalancer: {ingress: [{ip: 10.1.0.2, ipMode: Proxy}, {ip: 10.1.0.1}",
            "}\nstatus: {loadBalancer: {ingress: [{hostname: a.example}, {hostname: b.example}",
            "}\nstatus: {loadBalancer: {fingerpostUnheeded: a, ingress: [{ip: 10.1.0.1}",
            "}\nstatus: {loadBalancer: {ingress: [{ip: 10.1.0.1, hostname: b.example}",
            "}\nstatus: {loadBalancer: {ingress: [{ip: 10.1.0.1, ports: [{port: 80}]}" } },
        { { "]}}\n", "]}, conditions: [" ASSIGNED "]}\n", "]}, conditions: [" REFUSED("a") "]}\n",
            "]}, conditions: [" REFUSED("b") "]}\n",
            "]}, conditions: [" ASSIGNED ", " REFUSED("b") "]}\n" } } } },
    { "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n",
      { { { "metadata: {name: a", "metadata: {name: b" } },
        { { ", labels: {a: b", ", labels: {kubernetes.io/service-name: web",
            ", labels: {service.kubernetes.io/headless: ''" } },
        { { "}}\naddressType: IPv4\n", "}}\naddressType: IPv6\n", "}}\naddressType: FQDN\n" } },
        { { "ports: []\n", "ports: [{port: 80}]\n", "ports: [{name: a, port: 80, protocol: UDP}]\n",
            "ports: [{name: a}, {port: 5, protocol: SCTP}]\n" } },
        { { "endpoints: [", "endpoints: [{addresses: [10.0.0.3]}, " } },
        { { "{addresses: [10.0.0.1]", "{addresses: [10.0.0.2]" } },
        { { "", ", nodeName: n1" } },
        { { "", ", conditions: {ready: false}", ", conditions: {ready: false, serving: true}",
            ", conditions: {ready: false, serving: true, terminating: true}",
            ", conditions: {ready: true, serving: false}" } },
        { { "", ", hints: {forZones: [{name: a}, {name: ''}]}", ", hints: {forNodes: [{name: n1}]}",
            ", hints: {forZones: [{name: a}], forNodes: [{name: n1}, {name: n2}]}" } },
        { { "}]\n", "}, {addresses: [10.0.0.7]}]\n" } } } },
    { "apiVersion: v1\nkind: Node\n",
      { { { "metadata: {name: a", "metadata: {name: b" } },
        { { ", labels: {a: b", ", labels: {a: c", ", labels: {a: b, c: ''",
            ", labels: {topology.kubernetes.io/zone: east",
            ", labels: {node.kubernetes.io/exclude-from-external-load-balancers: ''" } },
        { { "}", "}, annotations: {kube-service-exporter.github.com/pretend-ready-until: soon}" } },
        { { "}\nspec: {}\n", "}\nspec: {unschedulable: true}\n",
            "}\nspec: {taints: [{key: ToBeDeletedByClusterAutoscaler}]}\n",
            "}\nspec: {podCIDRs: [10.244.0.0/24, 'fd00:244::/64']}\n" } },
        { { "status: {addresses: [",
            "status: {addresses: [{type: ExternalIP, address: 192.0.2.1}, ",
            "status: {addresses: [{type: InternalIP, address: 192.0.2.1}, ",
            "status: {addresses: [{type: ExternalIP, address: 10.9.0.1}, " } },
        { { "{type: InternalIP, address: 10.9.0.1}", "{type: ExternalIP, address: 10.9.0.1}",
            "{type: InternalIP, address: 10.9.0.1}, {type: InternalIP, address: 'fd09::1'}",
            "{type: InternalIP, address: 'fd09::1'}, {type: InternalIP, address: 'fd09::2'}" } },
        { { "]}\n", "], conditions: [{type: NetworkUnavailable, status: 'True'}]}\n",
            "], conditions: [{type: Ready, status: 'True'}]}\n",
            "], conditions: [{type: Ready, status: 'False'}]}\n" } } } },
    { "apiVersion: v1\nkind: Namespace\n",
      { { { "metadata: {name: a", "metadata: {name: b" } },
        { { "}\n", ", annotations: {coil.cybozu.com/pool: v4}}\n",
            ", annotations: {coil.cybozu.com/pool: ''}}\n", ", labels: {a: b, c: ''}}\n" } } } },
    { "apiVersion: v1\nkind: Pod\n",
      { { { "metadata: {name: a", "metadata: {name: b" } },
        { { "", ", namespace: shop" } },
        { { ", annotations: {a: b", ", annotations: {egress.coil.cybozu.com/: x",
            ", annotations: {egress.coil.cybozu.com/net: 'nat,b', egress.coil.cybozu.com/lab: c",
            ", annotations: {egress.coil.cybozu.com/net: 'nat,B'" } },
        { { "}}\nspec: {a: b", "}}\nspec: {nodeName: n1" } },
        { { "", ", hostNetwork: true" } },
        { { "}\nstatus: {", "}\nstatus: {phase: Failed, " } },
        { { "podIPs: []}\n", "podIPs: [{ip: 10.2.0.1}, {ip: 'fd02::1'}]}\n" } } } },
    { "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\n",
      { { { "metadata: {name: a}\n", "metadata: {name: b}\n",
            "metadata: {name: a, annotations: {fingerpost.io/mtu: '1400'}}\n",
            "metadata: {name: a, annotations: {fingerpost.io/mtu: '9000'}}\n" } },
        { { "spec: {blockSizeBits: 5", "spec: {blockSizeBits: 0", "spec: {blockSizeBits: 7" } },
        { { ", subnets: [{ipv4: 10.3.0.0/16}", ", subnets: [{ipv6: 'fd03::/112'}",
            ", subnets: [{ipv4: 10.3.0.0/16, ipv6: 'fd03::/112'}" } },
        { { "]}\n", ", {ipv4: 10.4.0.0/20}]}\n" } } } },
    { "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\n",
      { { { "metadata: {name: a", "metadata: {name: b" } },
        { { ", labels: {a: b", ", labels: {coil.cybozu.com/pool: v4",
            ", labels: {coil.cybozu.com/node: n1", ", labels: {coil.cybozu.com/request: u1",
            ", labels: {fingerpost.io/node-uid: u1",
            ", labels: {coil.cybozu.com/reserved: 'true'" } },
        { { "}}\nindex: 0\n", "}}\nindex: 2147483647\n" } },
        { { "ipv4: 10.3.0.0/27\n", "ipv6: 'fd03::/123'\n",
            "ipv4: 10.3.0.0/27\nipv6: 'fd03::/123'\n" } } } },
    { "apiVersion: coil.cybozu.com/v2\nkind: BlockRequest\n",
      { { { "metadata: {name: a", "metadata: {name: b" } },
        { { "}\n", ", uid: u1}\n" } },
        { { "spec: {nodeName: n1", "spec: {nodeName: n2" } },
        { { ", poolName: p1}\n", ", poolName: p2}\n" } },
        { { "", "status: {conditions: [{type: Complete, status: 'False'}]}\n",
            "status: {addressBlockName: p-0, conditions: [{type: Complete, status: 'True'}]}\n",
            "status: {conditions: [{type: Complete, status: 'True'}, {type: Failed, status: "
            "'True', reason: out of blocks}]}\n" } } } },
    { "apiVersion: coil.cybozu.com/v2\nkind: Egress\n",
      { { { "metadata: {name: a", "metadata: {name: a, namespace: shop" } },
        { { "}\n", ", annotations: {fingerpost.io/gateway-nodes: ''}}\n",
            ", annotations: {fingerpost.io/gateway-nodes: 'a in (b,c)'}}\n" } },
        { { "spec: {destinations: [0.0.0.0/0]", "spec: {destinations: [0.0.0.0/0, '::/0']" } },
        { { "", ", replicas: 3" } },
        { { "", ", sessionAffinity: None" } },
        { { "", ", sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}" } },
        { { "", ", strategy: {type: Recreate}", ", strategy: {type: Recreate, a: null}" } },
        { { "", ", template: {}", ", template: {spec: {containers: [{name: egress, n: 1e3}]}}",
            ", template: {spec: {a: '1', b: 100m, c: 012, d: [true, 'true', -0.5, \"\\u00e4\\n\"]}}" } },
        { { "", ", podDisruptionBudget: {minAvailable: 1}",
            ", podDisruptionBudget: {minAvailable: '1'}",
            ", podDisruptionBudget: {maxUnavailable: 50%}" } },
        { { "}\n", ", fouSourcePortAuto: true}\n" } },
        { { "", "status: {replicas: 0}\n", "status: {replicas: 2, selector: 'a=b'}\n" } } } },
    { "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\n",
      { { { "metadata: {name: a", "metadata: {name: a, namespace: shop" } },
        { { "", ", labels: {a: b}" } },
        { { "}\n", ", annotations: {fingerpost.io/reserved: '10.1.0.7, 10.1.0.0/30'}}\n",
            ", annotations: {fingerpost.io/reserved: '10.1.0.7 - 10.1.0.9'}}\n" } },
        { { "spec: {addresses: [10.1.0.0/24]", "spec: {addresses: [10.1.0.0/24, 'fd00::/120']",
            "spec: {addresses: [10.1.0.1-10.1.0.1]" } },
        { { "", ", autoAssign: false" } },
        { { "", ", avoidBuggyIPs: true" } },
        { { "}\n", ", serviceAllocation: {}}\n", ", serviceAllocation: {priority: 3}}\n",
            ", serviceAllocation: {namespaces: [a, b]}}\n",
            ", serviceAllocation: {namespaceSelectors: [{}, {matchLabels: {a: b, c: ''}}]}}\n",
            ", serviceAllocation: {serviceSelectors: [{matchExpressions: [{key: a, operator: "
            "NotIn, values: [b, c]}, {key: d, operator: Exists}]}]}}\n" } } } },
    { "apiVersion: metallb.io/v1beta1\nkind: BGPAdvertisement\n",
      {
          { { "metadata: {name: a", "metadata: {name: a, namespace: shop" } },
          { { "}\nspec: {a: b", "}\nspec: {ipAddressPools: [b, c]" } },
          { { "", ", ipAddressPoolSelectors: [{}]" } },
          { { "", ", serviceSelectors: [{matchLabels: {a: b}}]" } },
          { { "}\n",
              ", nodeSelectors: [{matchExpressions: [{key: a, operator: DoesNotExist}]}]}\n" } },
      } },
    { "apiVersion: metallb.io/v1beta1\nkind: L2Advertisement\n",
      { { { "metadata: {name: a", "metadata: {name: a, namespace: shop" } },
        { { "}\nspec: {a: b}\n", "}\nspec: {ipAddressPools: [b]}\n",
            "}\nspec: {interfaces: [b]}\n" } } } },
    { "apiVersion: apps/v1\nkind: Deployment\n",
      { { { "metadata: {name: a", "metadata: {name: a, namespace: shop" } },
        { { "", ", ownerReferences: [{kind: Egress, name: e, uid: u, controller: true}]" } },
        { { ", labels: {" OF_EGRESS, ", labels: {a: b", ", labels: {" OF_EGRESS ", c: d" } },
        { { "}}\n", ", app.kubernetes.io/managed-by: fingerpost}}\n" } },
        { { "spec: {replicas: 1}\n", "spec: {replicas: 2}\n" } },
        { { "", "status: {replicas: 2}\n", "status: {replicas: 2, availableReplicas: 1}\n" } } } },
    { "apiVersion: policy/v1\nkind: PodDisruptionBudget\n",
      { { { "metadata: {name: a, labels: {" OF_EGRESS "}}\n" } },
        { { "spec: {minAvailable: 1}\n", "spec: {minAvailable: '1'}\n" } } } },
    { "apiVersion: v1\nkind: ServiceAccount\n",
      { { { "metadata: {name: a", "metadata: {name: a, namespace: shop" } },
        { { "}\n", ", labels: {app.kubernetes.io/managed-by: fingerpost}}\n" } } } },
    { "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n",
      { { { "metadata: {name: a, labels: {app.kubernetes.io/managed-by: fingerpost}}\n" } },
        { { "subjects: []\n", "subjects: [{kind: ServiceAccount, name: a, namespace: b}]\n" } } } },
};
_Static_assert(ARRAY_SIZE(shapes) == KIND_COUNT, "each kind needs its shape");

static void compose(const struct shape *shape, const size_t choice[static SLOTS_MAX], char *text,
                    size_t size)
{
    size_t length = (size_t)snprintf(text, size, "%s", shape->head);
    for (size_t i = 0; i < SLOTS_MAX && shape->slots[i].words[0]; i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s", shape->slots[i].words[choice[i]]);
    assert_true(length < size);
}

/* Decodes, writes, reads, compares. Returns what was decoded. */
static struct decoded go_the_way(enum kind kind, const char *yaml)
{
    struct decoded there = decode_kind(yaml, READER_YAML, kind);
    if (there.r != 1)
        fail_msg("%s: %s", yaml, there.errors.list.count ? there.errors.list.items[0].message : "");
    AUTOTEXT struct text text = { 0 };
    object_encode(there.object, &text);
    assert_int_equal(text_error(&text), 0);
    assert_null(strchr(text.data, '\n'));

    AUTODECODED struct decoded back = decode_kind(text.data, READER_JSON, kind);
    if (back.r != 1 || !object_equal(there.object, back.object))
        fail_msg("is not the same: %s\n%s", yaml, text.data);
    AUTOTEXT struct text again = { 0 };
    object_encode(back.object, &again);
    assert_string_equal(text.data, again.data);
    return there;
}

static void words_go_the_way(size_t slot, const struct object *usual)
{
    const struct shape *shape = &shapes[usual->kind];
    for (size_t word = 1; word < WORDS_MAX && shape->slots[slot].words[word]; word++) {
        char yaml[2048];
        size_t choice[SLOTS_MAX] = { 0 };
        choice[slot] = word;
        compose(shape, choice, yaml, sizeof(yaml));
        AUTODECODED struct decoded changed = go_the_way(usual->kind, yaml);
        if (object_equal(usual, changed.object))
            fail_msg("makes no difference: %s", shape->slots[slot].words[word]);
    }
}

static void every_field_goes_the_way(void **state)
{
    (void)state;
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct shape *shape = &shapes[kind];
        char yaml[2048];
        compose(shape, (size_t[SLOTS_MAX]){ 0 }, yaml, sizeof(yaml));
        AUTODECODED struct decoded usual = go_the_way(kind, yaml);
        assert_int_equal(usual.object->kind, kind);
        for (size_t slot = 0; slot < SLOTS_MAX && shape->slots[slot].words[0]; slot++)
            words_go_the_way(slot, usual.object);
    }
}

static size_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(*seed >> 33);
}

static void mixtures_go_the_way(void **state)
{
    (void)state;
    uint64_t seed = 20261120;
    for (int i = 0; i < MIXTURES; i++) {
        const enum kind kind = (enum kind)(next_random(&seed) % KIND_COUNT);
        const struct shape *shape = &shapes[kind];
        char yaml[2048];
        size_t choice[SLOTS_MAX] = { 0 };
        for (size_t slot = 0; slot < SLOTS_MAX && shape->slots[slot].words[0]; slot++) {
            size_t count = 0;
            while (count < WORDS_MAX && shape->slots[slot].words[count])
                count++;
            choice[slot] = next_random(&seed) % count;
        }
        compose(shape, choice, yaml, sizeof(yaml));
        struct decoded decoded = go_the_way(kind, yaml);
        decoded_done(&decoded);
    }
}

static void lack_of_memory_sticks(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n");
    struct text text = { .failed = true };
    object_encode(decoded.object, &text);
    assert_int_equal(text_error(&text), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_goes_the_way),
        cmocka_unit_test(mixtures_go_the_way),
        cmocka_unit_test(lack_of_memory_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
