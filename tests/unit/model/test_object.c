// SPDX-License-Identifier: Apache-2.0
/* What all kinds share: dispatch, metadata, equality and order. */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"
#include "model/egress.h"
#include "model/services/service.h"

/* One object of each kind, all fields that are used filled in. */
static const struct {
    enum kind kind;
    const char *text;
} samples[] = {
    { KIND_SERVICE,
      "apiVersion: v1\nkind: Service\n"
      "metadata: {name: a, namespace: n, creationTimestamp: \"2026-11-20T07:33:00Z\", labels: "
      "{service.kubernetes.io/service-proxy-name: p}, annotations: {fingerpost.io/announce: "
      "\"true\", fingerpost.io/route-class: \"3\"}}\n"
      "spec: {type: LoadBalancer, clusterIPs: [10.96.0.1], externalIPs: [192.0.2.1],\n"
      " ports: [{name: http, port: 80, nodePort: 30080, protocol: TCP}], loadBalancerClass: c,\n"
      " externalTrafficPolicy: Local, internalTrafficPolicy: Cluster,\n"
      " loadBalancerSourceRanges: [198.51.100.0/24], healthCheckNodePort: 30099,\n"
      " sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}}\n"
      "status: {loadBalancer: {ingress: [{ip: 10.0.0.1, ipMode: VIP}]}}\n" },
    { KIND_ENDPOINT_SLICE,
      "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
      "metadata: {name: a, namespace: n, labels: {kubernetes.io/service-name: web}}\n"
      "addressType: IPv4\nports: [{name: http, port: 8080, protocol: TCP}]\n"
      "endpoints: [{addresses: [10.224.0.5], nodeName: node-1, conditions: {ready: true, serving: "
      "true, terminating: false}, hints: {forZones: [{name: zone-a}], forNodes: [{name: "
      "host-a}]}}]\n" },
    { KIND_NODE, "apiVersion: v1\nkind: Node\n"
                 "metadata: {name: a, labels: {topology.kubernetes.io/zone: zone-a}}\n"
                 "spec: {podCIDRs: [10.244.0.0/24]}\n"
                 "status: {addresses: [{type: InternalIP, address: 192.0.2.11}], conditions: "
                 "[{type: NetworkUnavailable, status: \"False\"}]}\n" },
    { KIND_NAMESPACE, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: "
                      "{coil.cybozu.com/pool: global}}\n" },
    { KIND_POD, "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: n}\n"
                "spec: {nodeName: node-1, hostNetwork: false}\n"
                "status: {phase: Running, podIPs: [{ip: 10.224.0.5}]}\n" },
    { KIND_ADDRESS_POOL, "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: a}\n"
                         "spec: {blockSizeBits: 4, subnets: [{ipv4: 10.0.0.0/24, ipv6: "
                         "\"fd00::/120\"}]}\n" },
    { KIND_ADDRESS_BLOCK, "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\n"
                          "metadata: {name: a, labels: {coil.cybozu.com/pool: default, "
                          "coil.cybozu.com/node: node-1, coil.cybozu.com/reserved: \"true\"}}\n"
                          "index: 7\nipv4: 10.0.0.0/27\nipv6: fd00::/123\n" },
    { KIND_BLOCK_REQUEST, "apiVersion: coil.cybozu.com/v2\nkind: BlockRequest\n"
                          "metadata: {name: a}\nspec: {nodeName: node-1, poolName: default}\n"
                          "status: {addressBlockName: default-7, conditions: [{type: Complete, "
                          "status: \"True\", reason: allocated, message: m}]}\n" },
    { KIND_EGRESS, "apiVersion: coil.cybozu.com/v2\nkind: Egress\n"
                   "metadata: {name: a, namespace: n}\n"
                   "spec: {destinations: [10.0.0.0/8], replicas: 2, fouSourcePortAuto: true}\n" },
    { KIND_IP_POOL, "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\n"
                    "metadata: {name: a, namespace: n}\n"
                    "spec: {addresses: [192.0.2.0/28, 192.0.2.32-192.0.2.40], autoAssign: false, "
                    "avoidBuggyIPs: true, serviceAllocation: {priority: 5, namespaces: [shop], "
                    "namespaceSelectors: [{matchLabels: {a: b}}], serviceSelectors: "
                    "[{matchExpressions: [{key: a, operator: In, values: [b, c]}]}]}}\n" },
    { KIND_BGP_ADVERTISEMENT, "apiVersion: metallb.io/v1beta1\nkind: BGPAdvertisement\n"
                              "metadata: {name: a, namespace: n}\n"
                              "spec: {ipAddressPools: [a], nodeSelectors: [{matchLabels: {b: c}}], "
                              "aggregationLength: 32, aggregationLengthV6: 128}\n" },
    { KIND_L2_ADVERTISEMENT, "apiVersion: metallb.io/v1beta1\nkind: L2Advertisement\n"
                             "metadata: {name: a, namespace: n}\n"
                             "spec: {ipAddressPoolSelectors: [{matchLabels: {b: c}}]}\n" },
    { KIND_DEPLOYMENT, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: n}\n"
                       "spec: {replicas: 2}\n" },
    { KIND_DISRUPTION_BUDGET, "apiVersion: policy/v1\nkind: PodDisruptionBudget\n"
                              "metadata: {name: a, namespace: n}\nspec: {minAvailable: 1}\n" },
    { KIND_SERVICE_ACCOUNT, "apiVersion: v1\nkind: ServiceAccount\n"
                            "metadata: {name: a, namespace: n}\n" },
    { KIND_ROLE_BINDING, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
                         "metadata: {name: a}\nsubjects: []\n" },
};

static void every_kind_has_its_name(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_SIZE(samples), KIND_COUNT);
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        AUTODECODED struct decoded decoded =
            decode_kind(samples[i].text, READER_YAML, samples[i].kind);
        assert_decoded(&decoded, 0);
        assert_int_equal(decoded.object->kind, samples[i].kind);
        bool cluster_scope = strstr(samples[i].text, "namespace: n") == NULL;
        assert_string_equal(decoded.object->namespace, cluster_scope ? "" : "n");
        assert_string_equal(decoded.object->name, "a");
        assert_string_equal(decoded.object->file, "test");
        assert_int_equal(decoded.object->line, 1);
    }
    assert_string_equal(kind_name(KIND_ADDRESS_BLOCK), "AddressBlock");
    assert_int_equal(kind_of("v1", "Service"), KIND_SERVICE);
    assert_int_equal(kind_of("discovery.k8s.io/v1", "EndpointSlice"), KIND_ENDPOINT_SLICE);
    assert_int_equal(kind_of("discovery.k8s.io/v1beta1", "EndpointSlice"), KIND_COUNT);
    assert_int_equal(kind_of("v1", "service"), KIND_COUNT);
    /* No manifest is read for what a controller makes. */
    assert_int_equal(kind_of("apps/v1", "Deployment"), KIND_COUNT);
}

/* The place of a warning about a document of this apiVersion and kind; NULL where there is none. */
static void assert_meant(const char *api_version, const char *kind, const char *meant)
{
    AUTOFREE char *text =
        text_format("apiVersion: %s\nkind: %s\nmetadata: {name: a}\n", api_version, kind);
    AUTODECODED struct decoded decoded = decode_yaml(text);
    assert_int_equal(decoded.r, 0);
    assert_true(faults_none(&decoded.errors));
    if (meant)
        assert_fault(&decoded.warnings, "test:2:7", meant);
    else
        assert_true(faults_none(&decoded.warnings));
}

static void a_kind_that_looks_like_ours_is_told(void **state)
{
    (void)state;
    assert_meant("v1", "Servce", "did you mean Service of v1?");
    assert_meant("v1", "service", "did you mean Service of v1?");
    assert_meant("v1", "EndpointSlice", "did you mean EndpointSlice of discovery.k8s.io/v1?");
    assert_meant("discovery.k8s.io/v1beta1", "EndpointSlice", "discovery.k8s.io/v1?");
    assert_meant("coil.cybozu.com/v2", "Adressblock", "did you mean AddressBlock");
    assert_meant("coil.cybozu.com/v1", "AddressPool", "of coil.cybozu.com/v2?");
    /* Those of others, and those of Kubernetes that are none of ours. */
    assert_meant("apps/v1", "Service", "did you mean Service of v1?");
    assert_meant("networking.k8s.io/v1", "Service", "did you mean Service of v1?");
    assert_meant("serving.knative.dev/v1", "Service", NULL);
    assert_meant("networking.k8s.io/v1", "Ingress", NULL);
    assert_meant("v1", "Secret", NULL);
    assert_meant("v1", "Event", NULL);
    assert_meant("v1", "ServiceAccount", NULL);
    /* Endpoints of v1 become EndpointSlices: test_endpoints.c. */
    assert_meant("v1", "Endpoints", NULL);
    assert_meant("v1", "Endpoint", "did you mean Endpoints of v1?");
    assert_meant("discovery.k8s.io/v1", "Endpoints", "did you mean Endpoints of v1?");
    assert_meant("metrics.k8s.io/v1beta1", "PodMetrics", NULL);
}

static void an_annotation_that_looks_like_ours_is_told(void **state)
{
    static const char text[] = "apiVersion: v1\n"
                               "kind: Namespace\n"
                               "metadata:\n"
                               "  name: shop\n"
                               "  annotations:\n"
                               "    fingerpost.io/route-clas: '1'\n"
                               "    fingerpost.io/anounce: 'true'\n"
                               "    fingerpst.io/announce: 'false'\n"
                               "    fingerpost.io/colour: red\n"
                               "    fingerpost.io/announce: 'true'\n"
                               "    example.org/announce: 'true'\n"
                               "    fingerpost.io.example.org/announce: 'true'\n"
                               "    announce: 'true'\n";
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(text);
    assert_int_equal(decoded.r, 1);
    assert_fault(&decoded.warnings, "test:6:31", "did you mean \"fingerpost.io/route-class\"?");
    assert_fault(&decoded.warnings, "test:7:28", "did you mean \"fingerpost.io/announce\"?");
    assert_fault(&decoded.warnings, "test:8:28", "did you mean \"fingerpost.io/announce\"?");
    assert_fault(&decoded.warnings, "test:9:27", "\"fingerpost.io/colour\": it does nothing");
    assert_fault(&decoded.warnings, "test:10:29", "it counts at the kind Service only");
    assert_int_equal(decoded.warnings.list.count, 5);
}

static void other_kinds_are_counted_not_read(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: apps/v1\nkind: Deployment\nmetadata: []\nspec: 7\n");
    assert_int_equal(decoded.r, 0);
    assert_string_equal(decoded.kind, "apps/v1/Deployment");
    assert_true(faults_none(&decoded.errors));
    assert_int_equal(
        object_decode(decoded.document, &decoded.object, NULL, &decoded.errors, &decoded.warnings),
        0);
    assert_null(decoded.object);
}

static void refuses_what_is_no_object(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        size_t errors;
    } cases[] = {
        { "[1, 2]", "expected a map", 1 },
        { "null", "is null", 1 },
        { "word", "expected a map", 1 },
        { "{}", "apiVersion is missing", 2 },
        { "{apiVersion: v1}", "kind is missing", 1 },
        { "{apiVersion: v1, kind: [Service]}", "kind: expected a single value", 1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTODECODED struct decoded decoded = decode_yaml(cases[i].text);
        assert_refused(&decoded, cases[i].errors);
        assert_non_null(strstr(decoded.errors.list.items[0].message, cases[i].message));
    }
}

static void checks_metadata(void **state)
{
    (void)state;
    static const struct {
        const char *metadata, *place, *message;
    } cases[] = {
        { "null", "test:1:1", "metadata is missing" },
        { "[]", "test:3:11", "metadata: expected a map" },
        { "{}", "test:3:11", "metadata: name is missing" },
        { "{name: \"\"}", "test:3:18", "metadata.name: not a name" },
        { "{name: {}}", "test:3:18", "metadata.name: expected a single value" },
        { "{name: Web}", "test:3:18", "not a name" },
        { "{name: a_b}", "test:3:18", "not a name" },
        { "{name: a/b}", "test:3:18", "not a name" },
        { "{name: a..b}", "test:3:18", "not a name" },
        { "{name: .a}", "test:3:18", "not a name" },
        { "{name: a.}", "test:3:18", "not a name" },
        { "{name: a-}", "test:3:18", "not a name" },
        { "{name: a.-b}", "test:3:18", "not a name" },
        { "{name: \"a\\nb\"}", "test:3:18", "not a name" },
        { "{name: a, namespace: a.b}", "test:3:32", "not a namespace" },
        { "{name: a, namespace: [b]}", "test:3:32", "expected a single value" },
        { "{name: a, labels: [b]}", "test:3:29", "expected a map" },
        { "{name: a, annotations: b}", "test:3:34", "expected a map" },
        { "{name: a, creationTimestamp: today}", "test:3:40", "not a time" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        snprintf(text, sizeof(text), "apiVersion: v1\nkind: Service\nmetadata: %s\nspec: {}\n",
                 cases[i].metadata);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

static void names_have_a_longest_length(void **state)
{
    (void)state;
    for (int length = 252; length <= 255; length++) {
        char name[256], text[512];
        memset(name, 'a', sizeof(name));
        name[length] = '\0';
        snprintf(text, sizeof(text), "{apiVersion: v1, kind: Node, metadata: {name: %s}}", name);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_int_equal(decoded.r, length <= 253 ? 1 : -EBADMSG);
    }
}

static void json_is_read_the_same(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_as("{\"apiVersion\": \"v1\", \"kind\": \"Service\",\n"
                  " \"metadata\": {\"name\": \"web\", \"labels\": {\"a\": true}},\n"
                  " \"spec\": {\"clusterIP\": \"10.96.0.1\",\n"
                  "  \"ports\": [{\"port\": 70000}]}}",
                  READER_JSON);
    assert_refused(&decoded, 2);
    assert_fault(&decoded.errors, "test:2:46", "metadata.labels.a: expected a string");
    assert_fault(&decoded.errors, "test:4:22", "spec.ports[0].port: 70000");
}

/* Replaces the first `from` in a sample's text. */
static void edit(const char *text, const char *from, const char *to, char edited[static 1024])
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("no \"%s\" in the sample", from);
    snprintf(edited, 1024, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* Each changes one field of a sample. */
static const struct {
    enum kind kind;
    const char *from, *to;
} edits[] = {
    { KIND_SERVICE, "name: a", "name: b" },
    { KIND_SERVICE, "namespace: n", "namespace: m" },
    { KIND_SERVICE, "07:33:00Z", "07:33:01Z" },
    { KIND_SERVICE, "name: a,", "name: a, deletionTimestamp: \"2026-11-20T08:00:00Z\"," },
    { KIND_SERVICE, "proxy-name: p", "proxy-name: q" },
    { KIND_SERVICE, "service.kubernetes.io/service-proxy-name: p", "" },
    { KIND_SERVICE, "labels: {", "labels: {service.kubernetes.io/headless: \"\", " },
    { KIND_SERVICE, "\"true\"", "\"false\"" },
    { KIND_SERVICE, "route-class: \"3\"", "route-class: \"4\"" },
    { KIND_SERVICE, "LoadBalancer", "NodePort" },
    { KIND_SERVICE, "[10.96.0.1]", "[None]" },
    { KIND_SERVICE, "10.96.0.1", "10.96.0.2" },
    { KIND_SERVICE, "[192.0.2.1]", "[]" },
    { KIND_SERVICE, "VIP", "Proxy" },
    { KIND_SERVICE, "name: http", "name: web" },
    { KIND_SERVICE, "port: 80", "port: 81" },
    { KIND_SERVICE, "30080", "30081" },
    { KIND_SERVICE, "TCP", "UDP" },
    { KIND_SERVICE, "protocol: TCP}", "protocol: TCP}, {port: 90}" },
    { KIND_SERVICE, "loadBalancerClass: c", "loadBalancerClass: d" },
    { KIND_SERVICE, "loadBalancerClass: c", "loadBalancerClass: null" },
    { KIND_SERVICE, "externalTrafficPolicy: Local", "externalTrafficPolicy: Cluster" },
    { KIND_SERVICE, "internalTrafficPolicy: Cluster", "internalTrafficPolicy: Local" },
    { KIND_SERVICE, "198.51.100.0/24", "198.51.100.0/25" },
    { KIND_SERVICE, "198.51.100.0/24", "198.51.100.0/24, 192.0.2.0/24" },
    { KIND_SERVICE, "30099", "30098" },
    { KIND_SERVICE, "ClientIP", "None" },
    { KIND_SERVICE, "timeoutSeconds: 60", "timeoutSeconds: 61" },
    { KIND_ENDPOINT_SLICE, "zone-a", "zone-b" },
    { KIND_ENDPOINT_SLICE, "{name: zone-a}", "{name: zone-a}, {name: zone-b}" },
    { KIND_ENDPOINT_SLICE, "{name: host-a}", "" },
    { KIND_ENDPOINT_SLICE, "host-a", "host-b" },
    { KIND_ENDPOINT_SLICE, ", hints: {forZones: [{name: zone-a}], forNodes: [{name: host-a}]}",
      "" },
    { KIND_ENDPOINT_SLICE, "service-name: web", "service-name: db" },
    { KIND_ENDPOINT_SLICE, "labels: {", "labels: {service.kubernetes.io/headless: \"\", " },
    { KIND_ENDPOINT_SLICE, "IPv4", "FQDN" },
    { KIND_ENDPOINT_SLICE, "name: http", "name: web" },
    { KIND_ENDPOINT_SLICE, "8080", "8081" },
    { KIND_ENDPOINT_SLICE, "TCP", "SCTP" },
    { KIND_ENDPOINT_SLICE, "protocol: TCP}", "protocol: TCP}, {port: 90}" },
    { KIND_ENDPOINT_SLICE, "10.224.0.5", "10.224.0.6" },
    { KIND_ENDPOINT_SLICE, "node-1", "node-2" },
    { KIND_ENDPOINT_SLICE, "{ready: true", "{ready: false" },
    { KIND_ENDPOINT_SLICE, "serving: true", "serving: false" },
    { KIND_ENDPOINT_SLICE, "terminating: false", "terminating: true" },
    { KIND_ENDPOINT_SLICE, "endpoints: [", "endpoints: [{addresses: [10.224.0.4]}, " },
    { KIND_NODE, "192.0.2.11", "192.0.2.12" },
    { KIND_NODE, "InternalIP", "Hostname" },
    { KIND_NODE, "InternalIP", "ExternalIP" },
    { KIND_NODE, "zone-a", "zone-b" },
    { KIND_NODE, "10.244.0.0/24", "10.244.1.0/24" },
    { KIND_NODE, "10.244.0.0/24", "" },
    { KIND_NODE, "\"False\"", "\"True\"" },
    { KIND_NODE, "labels: {",
      "labels: {node.kubernetes.io/exclude-from-external-load-balancers: x, " },
    { KIND_NAMESPACE, "global", "local" },
    { KIND_POD, "node-1", "node-2" },
    { KIND_POD, "hostNetwork: false", "hostNetwork: true" },
    { KIND_POD, "Running", "Failed" },
    { KIND_POD, "10.224.0.5", "10.224.0.6" },
    { KIND_POD, "{ip: 10.224.0.5}", "" },
    { KIND_ADDRESS_POOL, "blockSizeBits: 4", "blockSizeBits: 3" },
    { KIND_ADDRESS_POOL, "10.0.0.0", "10.0.1.0" },
    { KIND_ADDRESS_POOL, "fd00::/", "fd01::/" },
    { KIND_ADDRESS_POOL, "subnets: [", "subnets: [{ipv4: 10.9.0.0/24, ipv6: \"fd09::/120\"}, " },
    { KIND_ADDRESS_BLOCK, "index: 7", "index: 8" },
    { KIND_ADDRESS_BLOCK, "10.0.0.0", "10.0.0.32" },
    { KIND_ADDRESS_BLOCK, "fd00::/", "fd01::/" },
    { KIND_ADDRESS_BLOCK, "pool: default", "pool: global" },
    { KIND_ADDRESS_BLOCK, "node-1", "node-2" },
    { KIND_ADDRESS_BLOCK, "\"true\"", "\"false\"" },
    { KIND_EGRESS, "10.0.0.0/8", "10.0.0.0/9" },
    { KIND_EGRESS, "10.0.0.0/8", "10.0.0.0/8, 11.0.0.0/8" },
    { KIND_EGRESS, "replicas: 2", "replicas: 3" },
    { KIND_EGRESS, "Auto: true", "Auto: false" },
};

static void equality_sees_every_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
        const char *text = samples[edits[i].kind].text;
        char edited[1024];
        edit(text, edits[i].from, edits[i].to, edited);
        AUTODECODED struct decoded a = decode_yaml(text), b = decode_yaml(edited);
        assert_decoded(&a, 0);
        assert_int_equal(b.r, 1); /* fields may do nothing beside the edited one */
        if (object_equal(a.object, b.object) || object_equal(b.object, a.object))
            fail_msg("equal after \"%s\" became \"%s\"", edits[i].from, edits[i].to);
    }
}

static void equality_ignores_the_place_and_the_rest(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        char edited[1024];
        edit(samples[i].text, "metadata: {",
             "\n\nmetadata: {resourceVersion: \"9\", generation: 3, ", edited);
        AUTODECODED struct decoded a = decode_kind(samples[i].text, READER_YAML, samples[i].kind);
        AUTODECODED struct decoded b = decode_kind(edited, READER_YAML, samples[i].kind);
        assert_decoded(&a, 0);
        assert_decoded(&b, 0);
        assert_true(object_equal(a.object, b.object));
    }
}

static void who_an_object_is_and_what_holds_it(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        "apiVersion: v1\nkind: Service\n"
        "metadata: {name: a, uid: 0d3c, resourceVersion: \"12\",\n"
        " deletionTimestamp: \"2026-11-20T07:33:00Z\", finalizers: [x/y, z],\n"
        " ownerReferences: [{kind: Pod, name: p, uid: u, controller: true}]}\nspec: {}\n");
    assert_decoded(&decoded, 0);
    const struct object *object = decoded.object;
    assert_string_equal(object->uid, "0d3c");
    assert_string_equal(object->version, "12");
    assert_true(object->deleting && object->deleting_ms == INT64_C(1795159980000));
    assert_int_equal(object->ties->finalizer_count, 2);
    assert_string_equal(object->ties->finalizers[1], "z");
    assert_int_equal(object->ties->owner_count, 1);
    assert_string_equal(object->ties->owners[0].kind, "Pod");
    assert_string_equal(object->ties->owners[0].name, "p");
    assert_string_equal(object->ties->owners[0].uid, "u");
    assert_true(object->ties->owners[0].controller);
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        AUTODECODED struct decoded plain =
            decode_kind(samples[i].text, READER_YAML, samples[i].kind);
        assert_string_equal(plain.object->uid, "");
        assert_string_equal(plain.object->version, "");
        assert_null(plain.object->ties);
    }
}

static void what_holds_an_object_is_bounded(void **state)
{
    (void)state;
    AUTOTEXT struct text yaml = { 0 };
    text_add(&yaml, "apiVersion: v1\nkind: Service\nmetadata: {name: a, uid: ");
    for (int i = 0; i <= OBJECT_UID_MAX; i++)
        text_add_char(&yaml, 'u');
    text_add(&yaml, ", finalizers: [f");
    for (int i = 0; i < 1000; i++)
        text_addf(&yaml, ", f%d", i);
    text_add(&yaml, "], ownerReferences: [{}");
    for (int i = 0; i < 1000; i++)
        text_addf(&yaml, ", {name: o%d}", i);
    text_add(&yaml, "]}\nspec: {}\n");
    AUTODECODED struct decoded decoded = decode_yaml(text_str(&yaml));
    assert_decoded(&decoded, 0);
    assert_string_equal(decoded.object->uid, "");
    assert_int_equal(decoded.object->ties->finalizer_count, OBJECT_FINALIZERS_MAX);
    assert_int_equal(decoded.object->ties->owner_count, OBJECT_OWNERS_MAX);
}

static void order_of_keys_and_precedence(void **state)
{
    (void)state;
    const struct object web = { .kind = KIND_SERVICE, .namespace = "b", .name = "a" };
    const struct object first = { .kind = KIND_SERVICE, .namespace = "a", .name = "z" };
    const struct object other = { .kind = KIND_SERVICE, .namespace = "b", .name = "b" };
    const struct object slice = { .kind = KIND_ENDPOINT_SLICE, .namespace = "a", .name = "a" };
    assert_true(object_key_cmp(&first, &web) < 0);
    assert_true(object_key_cmp(&web, &other) < 0);
    assert_true(object_key_cmp(&other, &slice) < 0);
    assert_int_equal(object_key_cmp(&web, &web), 0);

    const struct object old = {
        .kind = KIND_SERVICE, .namespace = "z", .name = "z", .created_ms = 5
    };
    const struct object newer = {
        .kind = KIND_SERVICE, .namespace = "a", .name = "a", .created_ms = 6
    };
    const struct object twin = {
        .kind = KIND_SERVICE, .namespace = "z", .name = "y", .created_ms = 5
    };
    assert_true(object_precedence_cmp(&old, &newer) < 0);
    assert_true(object_precedence_cmp(&newer, &first) < 0); /* no timestamp comes last */
    assert_true(object_precedence_cmp(&first, &web) < 0);
    assert_true(object_precedence_cmp(&twin, &old) < 0);
    assert_int_equal(object_precedence_cmp(&old, &old), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_name),
        cmocka_unit_test(other_kinds_are_counted_not_read),
        cmocka_unit_test(a_kind_that_looks_like_ours_is_told),
        cmocka_unit_test(an_annotation_that_looks_like_ours_is_told),
        cmocka_unit_test(refuses_what_is_no_object),
        cmocka_unit_test(checks_metadata),
        cmocka_unit_test(names_have_a_longest_length),
        cmocka_unit_test(json_is_read_the_same),
        cmocka_unit_test(equality_sees_every_field),
        cmocka_unit_test(equality_ignores_the_place_and_the_rest),
        cmocka_unit_test(who_an_object_is_and_what_holds_it),
        cmocka_unit_test(what_holds_an_object_is_bounded),
        cmocka_unit_test(order_of_keys_and_precedence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
