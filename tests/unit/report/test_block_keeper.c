// SPDX-License-Identifier: Apache-2.0
/* A node in want of blocks, or with too many, and an API that follows a script. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_api.h"
#include "format/reader.h"
#include "model/address_block.h"
#include "report/block_keeper.h"

#include "cmocka_all.h"
#include "run_until.h"

static int64_t ahead_ms; /* of the real clock */

int64_t __real_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void)
{
    return __real_clock_mono_ms() + ahead_ms;
}

#define META \
    "\"metadata\":{\"name\":\"req-default-node1\",\"uid\":\"u1\",\"resourceVersion\":\"5\"}"
#define SPEC "\"spec\":{\"nodeName\":\"node1\",\"poolName\":\"default\"}"
#define REQUEST_OF(spec) \
    "{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":\"BlockRequest\"," META "," spec "}"
#define REQUEST(status) REQUEST_OF(SPEC status)
#define GIVEN                                                          \
    ",\"status\":{\"addressBlockName\":\"default-0\",\"conditions\":[" \
    "{\"type\":\"Complete\",\"status\":\"True\"}]}"
#define FAILED                                                                  \
    ",\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}," \
    "{\"type\":\"Failed\",\"status\":\"True\",\"reason\":\"out of blocks\"}]}"
#define SAID(reason) "{\"kind\":\"Status\",\"message\":\"words\",\"reason\":\"" reason "\"}"
#define REQUESTS     "/apis/coil.cybozu.com/v2/blockrequests"
#define BLOCKS       "/apis/coil.cybozu.com/v2/addressblocks"

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct fault_book *faults;
    struct store *store;
    struct pod_addresses addresses;
    pod_block_list blocks;
    pod_wait_list waits;
    struct block_keeper *keeper;
    struct fake_peer *peer;
    unsigned asked, looks;
};

static void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    fx->peer = peer;
    fx->asked++;
}

static const struct pod_addresses *addresses_of(void *context)
{
    struct fixture *fx = context;
    fx->looks++;
    return &fx->addresses;
}

static const pod_wait_list *waits_of(void *context)
{
    return &((struct fixture *)context)->waits;
}

static void close_block(void *context, const char *name, bool closed)
{
    struct fixture *fx = context;
    pod_block_named(&fx->addresses, name)->closed = closed;
}

static void put(struct fixture *fx, const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "t", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_true(store_put(fx->store, "api", object) >= 0);
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_true(fx && config && sd_event_new(&fx->event) >= 0);
    fx->faults = fault_book_new();
    fx->store = store_new();
    pod_addresses_init(&fx->addresses);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    config->server = strdup(fx->api.url);
    const struct block_keeper_options options = {
        .event = fx->event,
        .config = config,
        .node = "node1",
        .store = fx->store,
        .faults = fx->faults,
        .empty_ms = MINUTE_MS,
        .addresses = addresses_of,
        .waits = waits_of,
        .close = close_block,
        .context = fx,
    };
    assert_int_equal(block_keeper_new(&options, &fx->keeper), 0);
    put(fx, "apiVersion: v1\nkind: Node\nmetadata: {name: node1, uid: n1}\n");
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    block_keeper_free(fx->keeper);
    fake_api_done(&fx->api);
    pod_addresses_done(&fx->addresses);
    vec_done(&fx->blocks);
    vec_done(&fx->waits);
    store_free(fx->store);
    fault_book_free(fx->faults);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static void put_pool(struct fixture *fx)
{
    put(fx, "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: default, uid: p, "
            "resourceVersion: '1'}\nspec: {blockSizeBits: 3, subnets: [{ipv4: 10.1.0.0/16}]}\n");
}

/* A block of eight addresses that is empty for ever, in the store and in the node's table. */
static void put_block(struct fixture *fx, int index, const char *more)
{
    char yaml[512];
    struct pod_block block = { .pool = "default" };
    snprintf(yaml, sizeof(yaml),
             "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nindex: %d\nipv4: 10.1.0.%d/29\n"
             "metadata:\n  name: default-%d\n  uid: b%d\n  resourceVersion: '7'\n"
             "  finalizers: [coil.cybozu.com, others.example/x]\n%s"
             "  labels: {coil.cybozu.com/pool: default, coil.cybozu.com/node: node1, "
             "coil.cybozu.com/request: u%d}\n",
             index, 8 * index, index, index, more, index + 1);
    put(fx, yaml);
    snprintf(block.name, sizeof(block.name), "default-%d", index);
    const struct object *object = store_get(fx->store, KIND_ADDRESS_BLOCK, "", block.name);
    block.ipv4 = to_address_block(object)->ipv4;
    block.closed = object->deleting;
    assert_int_equal(vec_push(&fx->blocks, block), 0);
    assert_int_equal(pod_addresses_set_blocks(&fx->addresses, &fx->blocks, true, 0), 0);
}

static void wait_for_pool(struct fixture *fx, const char *pool)
{
    struct pod_wait wait = { 0 };
    snprintf(wait.pool, sizeof(wait.pool), "%s", pool);
    assert_int_equal(vec_push(&fx->waits, wait), 0);
}

/* A pod waits for a block of the pool, which is there. */
static void want_block(struct fixture *fx)
{
    put_pool(fx);
    wait_for_pool(fx, "default");
    block_keeper_look(fx->keeper);
}

/* What is under way comes to its end. */
static void pass_time(struct fixture *fx)
{
    for (int i = 0; i < 20; i++)
        assert_true(sd_event_run(fx->event, 10 * 1000) >= 0);
}

static void answer(struct fixture *fx, unsigned number, int status, const char *body)
{
    run_until(fx, fx->asked == number);
    fake_peer_answer(fx->peer, status, NULL, body);
}

static bool is_told(const struct fixture *fx, const char *part)
{
    for (size_t i = 0; i < fault_book_count(fx->faults); i++) {
        if (strstr(fault_book_at(fx->faults, i)->message, part))
            return true;
    }
    return false;
}

static bool is_raised(const struct fixture *fx, const char *code)
{
    for (size_t i = 0; i < fault_book_count(fx->faults); i++) {
        if (strcmp(known_fault_code(fault_book_at(fx->faults, i)), code) == 0)
            return true;
    }
    return false;
}

static void a_pod_that_waits_has_a_block_asked_for_once(void **state)
{
    struct fixture *fx = *state;
    want_block(fx);
    block_keeper_look(fx->keeper);
    run_until(fx, fx->asked == 1);
    assert_string_equal(
        fake_peer_body(fx->peer),
        "{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":\"BlockRequest\","
        "\"metadata\":{\"name\":\"req-default-node1\",\"ownerReferences\":["
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node1\",\"uid\":\"n1\"}]}," SPEC "}");
    answer(fx, 1, 201, REQUEST(""));
    put_block(fx, 0, "");
    fx->waits.count = 0;
    run_until(fx, block_keeper_ask(fx->keeper, 0)->state == ASK_WAITING);
    block_keeper_look(fx->keeper);
    answer(fx, 2, 200, REQUEST(GIVEN));
    answer(fx, 3, 200, REQUEST(GIVEN));
    run_until(fx, block_keeper_ask(fx->keeper, 0)->state == ASK_IDLE);
    block_keeper_look(fx->keeper);
    assert_null(block_keeper_ask(fx->keeper, 0));
    assert_string_equal(text_str(&fx->api.heard),
                        "POST " REQUESTS "\n" REQUESTS "/req-default-node1\n"
                        "DELETE " REQUESTS "/req-default-node1\n");
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static void a_pool_that_has_nothing_left_is_a_fault(void **state)
{
    struct fixture *fx = *state;
    want_block(fx);
    assert_int_equal(block_keeper_refusal(fx->keeper, "default"), POD_FULL);
    answer(fx, 1, 409, SAID("AlreadyExists"));
    answer(fx, 2, 200, REQUEST(FAILED));
    answer(fx, 3, 200, REQUEST(FAILED));
    run_until(fx, block_keeper_ask(fx->keeper, 0)->state == ASK_IDLE);
    assert_int_equal(block_keeper_refusal(fx->keeper, "default"), POD_EXHAUSTED);
    assert_true(is_raised(fx, "block-pool-exhausted"));
    answer(fx, 4, 404, SAID("NotFound")); /* it asks again by itself */
}

/* By another's node or pool. It is read on, and nothing else, until it is gone. */
static void a_request_of_somebody_else_is_a_fault(void **state)
{
    struct fixture *fx = *state;
    want_block(fx);
    answer(fx, 1, 409, SAID("AlreadyExists"));
    answer(fx, 2, 200, REQUEST_OF("\"spec\":{\"nodeName\":\"node2\",\"poolName\":\"default\"}"));
    run_until(fx, is_raised(fx, "block-request-foreign"));
    assert_string_equal(fault_book_at(fx->faults, 0)->place, "BlockRequest req-default-node1");
    ahead_ms += MINUTE_MS;
    block_keeper_look(fx->keeper);
    answer(fx, 3, 200, REQUEST_OF("\"spec\":{\"nodeName\":\"node1\",\"poolName\":\"other\"}"));
    pass_time(fx);
    assert_true(is_raised(fx, "block-request-foreign"));
    ahead_ms += MINUTE_MS;
    block_keeper_look(fx->keeper);
    answer(fx, 4, 404, SAID("NotFound"));
    run_until(fx, fx->asked == 5);
    assert_string_equal(fx->peer->method, "POST");
    assert_false(is_raised(fx, "block-request-foreign"));
}

static void a_pool_that_does_not_exist_is_not_asked_for(void **state)
{
    struct fixture *fx = *state;
    wait_for_pool(fx, "default");
    block_keeper_look(fx->keeper);
    assert_int_equal(block_keeper_refusal(fx->keeper, "default"), POD_NO_POOL);
    assert_true(is_raised(fx, "block-pool-missing"));
    assert_int_equal(fx->asked, 0);
    put_pool(fx);
    block_keeper_look(fx->keeper);
    run_until(fx, fx->asked == 1);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static void what_the_role_forbids_is_a_fault(void **state)
{
    struct fixture *fx = *state;
    want_block(fx);
    answer(fx, 1, 403, SAID("Forbidden"));
    run_until(fx, is_raised(fx, "block-request-forbidden"));
    answer(fx, 2, 422, SAID("Invalid"));
    run_until(fx, is_raised(fx, "block-request-refused"));
    assert_false(is_raised(fx, "block-request-forbidden"));
    answer(fx, 3, 201, REQUEST(""));
    run_until(fx, !is_raised(fx, "block-request-refused"));
}

static void a_node_that_the_api_does_not_have_asks_for_nothing(void **state)
{
    struct fixture *fx = *state;
    want_block(fx);
    assert_int_equal(store_remove(fx->store, "api", KIND_NODE, "", "node1"), 1);
    block_keeper_look(fx->keeper);
    assert_true(is_raised(fx, "block-node-unknown"));
}

static void an_empty_block_is_closed_deleted_and_let_go(void **state)
{
    struct fixture *fx = *state;
    const struct pod_block *block;
    put_block(fx, 0, "");
    put_block(fx, 1, "");
    block_keeper_look(fx->keeper);
    run_until(fx, fx->asked == 1);
    block = pod_block_named(&fx->addresses, "default-0");
    assert_true(block->closed);
    answer(fx, 1, 409, SAID("Conflict"));
    run_until(fx, !block->closed);
    block_keeper_look(fx->keeper);
    run_until(fx, fx->asked == 2);
    assert_true(block->closed);
    answer(fx, 2, 200, "{\"kind\":\"AddressBlock\"}");
    fx->blocks.count = 0;
    put_block(fx, 0, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n");
    put_block(fx, 1, "");
    run_until(fx, (block_keeper_look(fx->keeper), fx->asked == 3));
    assert_string_equal(fake_peer_body(fx->peer),
                        "{\"metadata\":{\"uid\":\"b0\",\"resourceVersion\":\"7\","
                        "\"finalizers\":[\"others.example/x\"]}}");
    assert_string_equal(text_str(&fx->api.heard), "DELETE " BLOCKS "/default-0\n"
                                                  "DELETE " BLOCKS "/default-0\n"
                                                  "PATCH " BLOCKS "/default-0\n");
    assert_false(pod_block_named(&fx->addresses, "default-1")->closed);
}

/* For ten seconds the source is waited for, which tells of it; then there is nothing to do. */
static void who_gave_a_block_back_comes_to_rest(void **state)
{
    struct fixture *fx = *state;
    put_block(fx, 0, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n");
    block_keeper_look(fx->keeper);
    answer(fx, 1, 200, "{\"metadata\":{\"name\":\"default-0\"}}");
    fx->blocks.count = 0;
    assert_int_equal(pod_addresses_set_blocks(&fx->addresses, &fx->blocks, true, 0), 0);
    pass_time(fx);
    ahead_ms += 11 * SECOND_MS;
    block_keeper_look(fx->keeper);
    fx->looks = 0;
    pass_time(fx);
    assert_int_equal(fx->looks, 0);
}

static void put_pod(struct fixture *fx, const char *ip)
{
    struct pod_interface pod_interface;
    assert_int_equal(pod_interface_name("c1", "eth0", "default", &pod_interface), 0);
    assert_int_equal(ip_parse(ip, &pod_interface.v4), 0);
    assert_int_equal(pod_addresses_put(&fx->addresses, &pod_interface), 0);
}

/* As after etcd's restore from a backup. */
static void a_block_that_is_lost_is_put_back(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_block(fx, 0, "");
    put_pod(fx, "10.1.0.42");
    block_keeper_look(fx->keeper);
    block_keeper_look(fx->keeper);
    run_until(fx, fx->asked == 1);
    assert_string_equal(
        fake_peer_body(fx->peer),
        "{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":\"AddressBlock\",\"metadata\":{"
        "\"name\":\"default-5\",\"labels\":{\"coil.cybozu.com/pool\":\"default\","
        "\"coil.cybozu.com/node\":\"node1\",\"fingerpost.io/node-uid\":\"n1\"},"
        "\"finalizers\":[\"coil.cybozu.com\"],\"ownerReferences\":[{"
        "\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":\"AddressPool\",\"name\":\"default\","
        "\"uid\":\"p\",\"controller\":true,\"blockOwnerDeletion\":true}]},"
        "\"index\":5,\"ipv4\":\"10.1.0.40/29\"}");
    answer(fx, 1, 201, "{\"metadata\":{\"name\":\"default-5\"}}");
    put_block(fx, 5, "");
    block_keeper_look(fx->keeper);
    assert_string_equal(text_str(&fx->api.heard), "POST " BLOCKS "\n");
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static void put_foreign(struct fixture *fx, const char *name, const char *ipv4)
{
    char yaml[512];
    snprintf(yaml, sizeof(yaml),
             "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nindex: 5\nipv4: %s\n"
             "metadata: {name: %s, labels: {coil.cybozu.com/node: node2}}\n",
             ipv4, name);
    put(fx, yaml);
}

static void what_another_node_got_meanwhile_is_a_fault(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_pod(fx, "10.1.0.42");
    block_keeper_look(fx->keeper);
    answer(fx, 1, 409, SAID("AlreadyExists"));
    put_foreign(fx, "default-5", "10.1.0.40/29");
    block_keeper_look(fx->keeper);
    assert_true(is_raised(fx, "block-taken"));
    ahead_ms += 11 * SECOND_MS;
    block_keeper_look(fx->keeper);
    assert_int_equal(fx->asked, 1);
}

static void nobody_takes_addresses_that_another_block_has(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_foreign(fx, "other-0", "10.1.0.32/27");
    put_pod(fx, "10.1.0.42");
    block_keeper_look(fx->keeper);
    assert_true(is_told(fx, "is of node node2"));
    assert_int_equal(fx->asked, 0);
}

/* Its blocks were deleted with it, and are for others to have. */
static void a_node_that_is_gone_puts_nothing_back(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    assert_true(store_remove(fx->store, "api", KIND_NODE, "", "node1") >= 0);
    put_pod(fx, "10.1.0.42");
    block_keeper_look(fx->keeper);
    pass_time(fx);
    assert_int_equal(fx->asked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pod_that_waits_has_a_block_asked_for_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_pool_that_has_nothing_left_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_of_somebody_else_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pool_that_does_not_exist_is_not_asked_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_the_role_forbids_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_the_api_does_not_have_asks_for_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_empty_block_is_closed_deleted_and_let_go, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_gave_a_block_back_comes_to_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_that_is_lost_is_put_back, setup, teardown),
        cmocka_unit_test_setup_teardown(what_another_node_got_meanwhile_is_a_fault, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nobody_takes_addresses_that_another_block_has, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_node_that_is_gone_puts_nothing_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
