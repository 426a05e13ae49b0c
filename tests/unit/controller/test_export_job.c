// SPDX-License-Identifier: Apache-2.0
/* The job of exports with a folder as its target: what it holds back, and a folder that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/kube/kubeconfig.h"
#include "controller/export/export_job.h"
#include "format/reader.h"
#include "loop/deferred.h"

#include "cmocka_all.h"
#include "run_until.h"

enum { SERVICES = 12 };

/* This one leads, without an election. */
bool __wrap_elector_leads(const struct elector *elector);
bool __wrap_elector_leads(const struct elector *elector)
{
    (void)elector;
    return true;
}

struct fixture {
    sd_event *event;
    char base[40];
    struct kube_client *client;
    struct controller_config *config;
    struct controller_status status;
    struct store *store;
    struct board board;
    struct job *job;
    struct deferred *round;
};

/* The controller's round comes behind what the target does. */
enum { ROUND_PRIORITY = 100 };

static void wake(void *context)
{
    deferred_schedule(((struct fixture *)context)->round);
}

static void run_round(void *context)
{
    struct fixture *fx = context;
    AUTOVEC change_list changes = { 0 };
    const struct job_round round = { clock_mono_ms(), false };
    assert_int_equal(store_changes(fx->store, &changes), 0);
    vec_each(const struct change, change, &changes)
        assert_int_equal(export_job_ops.note(fx->job, change), 0);
    assert_int_equal(export_job_ops.work(fx->job, &round), 0);
    store_changes_done(fx->store);
}

/* The exports go to BASE/folder. */
static void load_config(struct fixture *fx)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE char *path = text_format("%s/controller.yaml", fx->base);
    AUTOFREE char *yaml = text_format("source: {kubernetes: {}}\n"
                                      "consul: {clusterID: transformers, folder: %s/folder}\n",
                                      fx->base);
    assert_int_equal(file_write_atomic(path, yaml, strlen(yaml)), 0);
    assert_int_equal(controller_config_load(path, &fx->config, &faults), 0);
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct kube_config *kube = calloc(1, sizeof(*kube));
    assert_true(fx && kube && sd_event_new(&fx->event) >= 0);
    strcpy(fx->base, "/tmp/test_export_job.XXXXXX");
    assert_non_null(mkdtemp(fx->base));
    load_config(fx);
    kube->server = strdup("http://127.0.0.1:1");
    assert_int_equal(kube_client_new(fx->event, kube, &fx->client), 0);
    assert_int_equal(deferred_new(fx->event, ROUND_PRIORITY, run_round, fx, &fx->round), 0);
    fx->store = store_new();
    fx->status.faults = fault_book_new();
    fx->status.source.synced = true;
    fx->board = (struct board){
        .event = fx->event,
        .config = fx->config,
        .store = fx->store,
        .client = fx->client,
        .status = &fx->status,
        .faults = fx->status.faults,
        .wake = wake,
        .context = fx,
    };
    assert_int_equal(job_open(&export_job_ops, &fx->board, &fx->job), 0);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *command = text_format("rm -r %s", fx->base);
    job_close(fx->job);
    deferred_free(fx->round);
    kube_client_free(fx->client);
    store_free(fx->store);
    fault_book_free(fx->status.faults);
    controller_config_free(fx->config);
    sd_event_unref(fx->event);
    assert_int_equal(system(command), 0);
    free(fx);
    return 0;
}

static void put_service(struct fixture *fx, const char *name)
{
    AUTOFREE char *yaml = text_format(
        "{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: default, annotations: "
        "{kube-service-exporter.github.com/exported: 'true'}}, spec: {type: NodePort, clusterIP: "
        "10.96.0.7, ports: [{port: 80, nodePort: 32046}]}}",
        name);
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_true(store_put(fx->store, "test", object) >= 0);
    wake(fx);
}

/* The one fault that there is; "": none. */
static const char *told(const struct fixture *fx)
{
    const struct fault_book *faults = fx->status.faults;
    assert_true(fault_book_count(faults) <= 1);
    return fault_book_count(faults) ? known_fault_code(fault_book_at(faults, 0)) : "";
}

static uint64_t count_of(const struct fixture *fx, const char *name)
{
    struct job_status status = { 0 };
    job_publish(fx->job, &status);
    for (size_t i = 0; i < status.count; i++) {
        if (strcmp(status.counts[i].name, name) == 0)
            return status.counts[i].value;
    }
    fail_msg("there is no count \"%s\"", name);
    return 0;
}

static void documents_that_go_at_once_are_held_back(void **state)
{
    struct fixture *fx = *state;
    char name[16];
    for (int i = 0; i < SERVICES; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        put_service(fx, name);
    }
    job_lead(fx->job, true);
    run_until(fx, count_of(fx, "written") >= SERVICES && count_of(fx, "pending") == 0);
    assert_string_equal(told(fx), "");
    for (int i = 0; i < SERVICES; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        assert_int_equal(store_remove(fx->store, "test", KIND_SERVICE, "default", name), 1);
    }
    wake(fx);
    run_until(fx, strcmp(told(fx), "export-documents-held") == 0);
    const struct known_fault *fault = fault_book_at(fx->status.faults, 0);
    assert_string_equal(fault->place, "consul.maxShrink");
    assert_int_equal(count_of(fx, "held"), SERVICES);
    assert_int_equal(count_of(fx, "removed"), 0);
    put_service(fx, "s0"); /* they come back */
    for (int i = 1; i < SERVICES; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        put_service(fx, name);
    }
    run_until(fx, strcmp(told(fx), "") == 0);
}

/* A file is where the folder is to be. */
static void a_folder_that_fails_is_told(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *folder = text_format("%s/folder", fx->base);
    assert_int_equal(file_write_atomic(folder, "", 0), 0);
    put_service(fx, "web");
    job_lead(fx->job, true);
    run_until(fx, strcmp(told(fx), "export-target-failed") == 0);
    const struct known_fault *fault = fault_book_at(fx->status.faults, 0);
    assert_string_equal(fault->place, folder);
    assert_non_null(strstr(fault->message, "Not a directory"));
    assert_non_null(fault->remedy);
    assert_int_equal(unlink(folder), 0);
    run_until(fx, strcmp(told(fx), "") == 0 && count_of(fx, "written") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(documents_that_go_at_once_are_held_back),
        TEST(a_folder_that_fails_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
