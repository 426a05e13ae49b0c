// SPDX-License-Identifier: Apache-2.0
/* The copy on disk: all comes back, or it is said why nothing does. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "copies.h"
#include "format/reader.h"
#include "raised.h"
#include "store/copy_chain.h"

/* One object of each kind. */
static const char *const documents[] = {
    "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: "
    "LoadBalancer, clusterIP: 10.0.0.9, ports: [{port: 80}]}, status: {loadBalancer: {ingress: "
    "[{ip: 10.1.0.1}]}}}",
    "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, namespace: "
    "shop, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{port: 80}], "
    "endpoints: [{addresses: [10.2.0.1], nodeName: n1}]}",
    "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {addresses: [{type: InternalIP, "
    "address: 10.9.0.1}]}}",
    "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
    "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {nodeName: n1}}",
    "{apiVersion: coil.cybozu.com/v2, kind: AddressPool, metadata: {name: v4}, spec: {subnets: "
    "[{ipv4: 10.2.0.0/16}]}}",
    "{apiVersion: coil.cybozu.com/v2, kind: AddressBlock, metadata: {name: v4-0, labels: "
    "{coil.cybozu.com/node: n1}}, index: 0, ipv4: 10.2.0.0/27}",
    "{apiVersion: coil.cybozu.com/v2, kind: BlockRequest, metadata: {name: req-v4-n1}, spec: "
    "{nodeName: n1, poolName: v4}}",
    "{apiVersion: coil.cybozu.com/v2, kind: Egress, metadata: {name: out, namespace: shop}, spec: "
    "{destinations: [0.0.0.0/0]}}",
    "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: lb, namespace: shop}, "
    "spec: {addresses: [10.1.0.0/24]}}",
    "{apiVersion: metallb.io/v1beta1, kind: BGPAdvertisement, metadata: {name: lb, namespace: "
    "shop}, spec: {ipAddressPools: [lb]}}",
    "{apiVersion: metallb.io/v1beta1, kind: L2Advertisement, metadata: {name: lb, namespace: "
    "shop}}",
};
_Static_assert(ARRAY_SIZE(documents) == KIND_DEPLOYMENT, "each kind of an agent's needs one");

static void put_document(struct store *store, const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 }, warnings = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &warnings), 1);
    assert_int_equal(store_put(store, "api", object), 1);
}

static struct copies *sample_copies(void)
{
    struct copies *copies = copies_new();
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
        put_document(copies->store, documents[i]);
    return copies;
}

static void all_comes_back(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = sample_copies();
    struct copy_head head = { .written_wall_ms = INT64_C(1795159980000) };
    (void)strcpy(head.kinds[KIND_POD].resource_version, "4711");
    head.kinds[KIND_POD].synced_wall_ms = INT64_C(1795159981000);
    assert_int_equal(copy_whole(copies, &head), 0);

    AUTOLOADED struct loaded loaded = load(copies);
    assert_int_equal(loaded.r, 1);
    assert_true(faults_none(&loaded.faults));
    assert_memory_equal(&loaded.head, &head, sizeof(head));
    AUTOFREE char *there = describe_store(copies->store), *back = describe_store(loaded.store);
    assert_string_equal(there, back);
    /* Under the origin of the source, which takes over from here. */
    assert_int_equal(store_remove(loaded.store, "api", KIND_POD, "shop", "web"), 1);
}

static void nothing_is_no_fault(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    AUTOLOADED struct loaded none = load(copies);
    assert_int_equal(none.r, 0);
    assert_true(faults_none(&none.faults));

    assert_int_equal(copy_whole(copies, &(struct copy_head){ 0 }), 0);
    AUTOLOADED struct loaded empty = load(copies);
    assert_int_equal(empty.r, 1);
    assert_int_equal(store_count(empty.store, KIND_SERVICE), 0);
}

/* What comes and goes between the steps makes no broken line and no lost neighbour. */
static void the_store_may_change_meanwhile(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    CLEANUP(copy_writer_freep) struct copy_writer *writer = NULL;
    const struct copy_head head = { 0 };
    put_generation(copies->store, 50, 1);
    assert_int_equal(copy_begin(copies->path, &copy_of_n1, &head, copies->store, &writer), 0);
    int steps = 0, r;
    while ((r = copy_write(writer, 0)) == 0) {
        char name[24];
        (void)snprintf(name, sizeof(name), "web-%d", steps++);
        if (steps % 2)
            (void)store_remove(copies->store, "api", KIND_ENDPOINT_SLICE, "n", name);
        (void)store_put(copies->store, "api", make_slice("web-49", "web", (uint16_t)steps));
        (void)store_put(copies->store, "api", make_service(name, steps, "10.0.0.1"));
    }
    assert_int_equal(r, 1);
    assert_true(steps > 50);
    assert_int_equal(copy_commit(writer), 0);

    AUTOLOADED struct loaded loaded = load(copies);
    assert_int_equal(loaded.r, 1);
    assert_int_equal(store_count(loaded.store, KIND_ENDPOINT_SLICE), copy_objects(writer));
    assert_in_range(store_count(loaded.store, KIND_ENDPOINT_SLICE), 25, 49);
    assert_non_null(store_get(loaded.store, KIND_ENDPOINT_SLICE, "n", "web-49"));
}

static void of_another(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = sample_copies();
    assert_int_equal(copy_whole(copies, &(struct copy_head){ 0 }), 0);
    AUTOLOADED struct loaded node =
        load_as(copies, &(struct copy_owner){ .node = "n2", .server = copy_of_n1.server });
    assert_refused(&node, -EBADMSG, "it is of node n1, and this is n2");
    (void)raised(&node.faults, "copy-of-other-node");
    AUTOLOADED struct loaded server =
        load_as(copies, &(struct copy_owner){ .node = "n1", .server = "https://other" });
    assert_refused(&server, -EBADMSG, "it is from https://api:6443, and this agent asks");

    const char later[] = "{\"fingerpostCopy\":2,\"something\":\"else\"}\nof which nothing is known";
    assert_int_equal(file_write_atomic(copies->path, later, sizeof(later) - 1), 0);
    AUTOLOADED struct loaded version = load(copies);
    assert_refused(&version, -EBADMSG, "it is of format 2, and this agent reads 1");
}

static void unreadable(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    assert_int_equal(dir_make(copies->path), 0);
    AUTOLOADED struct loaded loaded = load(copies);
    assert_refused(&loaded, -EISDIR, "Is a directory");
    (void)raised(&loaded.faults, "copy-unreadable");
}

static void not_opened(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    assert_int_equal(symlink(copies->path, copies->path), 0);
    AUTOLOADED struct loaded loaded = load(copies);
    assert_refused(&loaded, -ELOOP, "it can't be opened: Too many levels of symbolic links");
    (void)raised(&loaded.faults, "copy-unopened");
}

static void read_copy(const struct copies *copies, char **ret_bytes, size_t *ret_size)
{
    assert_int_equal(copy_whole(copies, &(struct copy_head){ .written_wall_ms = 1 }), 0);
    assert_int_equal(file_read(copies->path, 1 << 20, ret_bytes, ret_size), 0);
}

static void write_bytes(const struct copies *copies, const char *bytes, size_t size)
{
    AUTOCLOSE int fd = open(copies->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, bytes, size), size);
}

static void cut_short(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = sample_copies();
    AUTOFREE char *bytes = NULL;
    size_t size;
    read_copy(copies, &bytes, &size);
    for (size_t left = 0; left < size - 1; left++) { /* without the last line's end it is whole */
        write_bytes(copies, bytes, left);
        AUTOLOADED struct loaded loaded = load(copies);
        assert_refused(&loaded, -EBADMSG, "damaged");
    }
}

static void flipped_bits(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = sample_copies();
    AUTOFREE char *bytes = NULL;
    size_t size;
    read_copy(copies, &bytes, &size);
    for (size_t i = 0; i < size - 1; i++) {
        char bit = (char)(1 << i % 8);
        bytes[i] ^= bit;
        write_bytes(copies, bytes, size);
        AUTOLOADED struct loaded loaded = load(copies);
        assert_refused(&loaded, -EBADMSG, "is not used");
        bytes[i] ^= bit;
    }
}

/* Whole lines in another order, twice, or not at all. */
static void moved_lines(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = sample_copies();
    AUTOFREE char *bytes = NULL;
    size_t size;
    read_copy(copies, &bytes, &size);
    char *second = strchr(bytes, '\n') + 1, *third = strchr(second, '\n') + 1;
    char *fourth = strchr(third, '\n') + 1;
    const struct {
        const char *from, *to;
    } orders[][4] = {
        { { bytes, second }, { third, fourth }, { second, third }, { fourth, bytes + size } },
        { { bytes, third }, { second, third }, { third, bytes + size } },
        { { bytes, second }, { third, bytes + size } },
        { { bytes, bytes + size }, { second, third } },
        { { bytes, bytes + size }, { bytes, bytes + size } },
    };
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        AUTOTEXT struct text text = { 0 };
        for (size_t j = 0; j < ARRAY_SIZE(orders[i]); j++)
            text_add_bytes(&text, orders[i][j].from, (size_t)(orders[i][j].to - orders[i][j].from));
        write_bytes(copies, text.data, text.length);
        AUTOLOADED struct loaded loaded = load(copies);
        assert_refused(&loaded, -EBADMSG, "damaged");
    }
}

/* An agent of another version may have kept what this one refuses: the others are used. */
static void unknown_objects_are_left_out(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"fingerpostCopy\":1,\"node\":\"n1\",\"server\":\"https://api:6443\"}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"good\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"BAD\"}}",
        "{\"apiVersion\":\"v9\",\"kind\":\"Gateway\",\"metadata\":{\"name\":\"b\"}}",
    };
    AUTOCOPIES struct copies *copies = copies_new();
    AUTOTEXT struct text text = { 0 };
    struct copy_chain chain = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        text_addf(&text, "%s\n", lines[i]);
        copy_chain_add(&chain, lines[i], strlen(lines[i]));
    }
    text_addf(&text, "{\"objects\":3,\"checksum\":\"%016llx\"}", (unsigned long long)chain.hash);
    write_bytes(copies, text.data, text.length);

    AUTOLOADED struct loaded loaded = load(copies);
    assert_int_equal(loaded.r, 1);
    assert_int_equal(store_count(loaded.store, KIND_NAMESPACE), 1);
    assert_int_equal(store_count(loaded.store, KIND_NODE), 0);
    assert_raised(&loaded.faults, "copy-object-invalid at Node /BAD\n"
                                  "copy-object-unknown at Gateway /b\n");
}

static void assert_generation(const struct copies *copies, int count, uint16_t generation)
{
    AUTOLOADED struct loaded loaded = load(copies);
    assert_int_equal(loaded.r, 1);
    assert_int_equal(store_count(loaded.store, KIND_ENDPOINT_SLICE), count);
    object_list list = { 0 };
    assert_int_equal(store_list(loaded.store, KIND_ENDPOINT_SLICE, &list), 0);
    vec_each(const struct object *, object, &list)
        assert_int_equal(to_endpoint_slice(*object)->ports[0].port, generation);
    vec_done(&list);
}

/* On a file system of its own with room for one copy and a half. */
static void a_full_disk_leaves_the_old_copy(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("copies", copies->folder, "tmpfs", 0, "size=256k") < 0)
        skip(); /* not root */
    put_generation(copies->store, 400, 1);
    assert_int_equal(copy_whole(copies, &(struct copy_head){ 0 }), 0);
    put_generation(copies->store, 1000, 2);
    assert_int_equal(copy_whole(copies, &(struct copy_head){ 0 }), -ENOSPC);
    assert_generation(copies, 400, 1);

    /* It left nothing that takes room: what fits is written again. */
    for (int i = 400; i < 1000; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "web-%d", i);
        assert_int_equal(store_remove(copies->store, "api", KIND_ENDPOINT_SLICE, "n", name), 1);
    }
    assert_int_equal(copy_whole(copies, &(struct copy_head){ 0 }), 0);
    assert_generation(copies, 400, 2);
    assert_int_equal(umount(copies->folder), 0);
}

static void a_folder_that_is_gone(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = sample_copies();
    (void)snprintf(copies->path, sizeof(copies->path), "%s/no/objects", copies->folder);
    assert_int_equal(copy_whole(copies, &(struct copy_head){ 0 }), -ENOENT);
}

/* An unfinished copy is given up without a trace. */
static void given_up(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    const struct copy_head head = { 0 };
    put_generation(copies->store, 10, 1);
    assert_int_equal(copy_whole(copies, &head), 0);
    put_generation(copies->store, 10, 2);
    struct copy_writer *writer;
    assert_int_equal(copy_begin(copies->path, &copy_of_n1, &head, copies->store, &writer), 0);
    while (copy_write(writer, 0) == 0)
        continue;
    copy_writer_free(writer);
    assert_generation(copies, 10, 1);
    AUTOFREE char *temporary = text_format("%s.new", copies->path);
    assert_int_equal(access(temporary, F_OK), -1);
}

/* Writes copies of rising generations, and tells of each that is in place, until it is killed. */
static void write_for_ever(struct copies *copies, int pipe)
{
    for (uint8_t generation = 1;; generation = (uint8_t)(generation % 200 + 1)) {
        put_generation(copies->store, 300, generation);
        if (copy_whole(copies, &(struct copy_head){ 0 }) < 0 || write(pipe, &generation, 1) != 1)
            _exit(1);
    }
}

static void killed_at_any_moment(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    unsigned seed = 20261120;
    put_generation(copies->store, 300, 1);
    for (int round = 0; round < 15; round++) {
        int ends[2], status;
        uint8_t generation = 0, last;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_for_ever(copies, ends[1]);
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &generation, 1), 1);
        (void)usleep((useconds_t)rand_r(&seed) % 20000); /* any moment will do */
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        while (read(ends[0], &last, 1) == 1)
            generation = last;
        (void)close(ends[0]);

        AUTOLOADED struct loaded loaded = load(copies);
        const struct object *object = store_get(loaded.store, KIND_ENDPOINT_SLICE, "n", "web-0");
        assert_non_null(object);
        uint16_t found = to_endpoint_slice(object)->ports[0].port;
        assert_true(found == generation || found == generation % 200 + 1);
        assert_generation(copies, 300, found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_comes_back),
        cmocka_unit_test(nothing_is_no_fault),
        cmocka_unit_test(the_store_may_change_meanwhile),
        cmocka_unit_test(of_another),
        cmocka_unit_test(unreadable),
        cmocka_unit_test(not_opened),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(moved_lines),
        cmocka_unit_test(unknown_objects_are_left_out),
        cmocka_unit_test(a_folder_that_is_gone),
        cmocka_unit_test(given_up),
        cmocka_unit_test(killed_at_any_moment),
        cmocka_unit_test(a_full_disk_leaves_the_old_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
