// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of the agent without the others: what they say of files that are taken away under them, and
 * of a reload that fails for want of something. The wraps stand for what other parts have made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/part.h"
#include "agentd/reload.h"
#include "base/files/file.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "engine/egress/egress_engine.h"
#include "engine/nat/nat_engine.h"
#include "engine/routes/route_engine.h"
#include "run_until.h"

static int load_error, start_error; /* 0: as it is */

int __real_config_load(const char *path, struct config **ret_config, struct faults *faults);
int __wrap_config_load(const char *path, struct config **ret_config, struct faults *faults);
int __wrap_config_load(const char *path, struct config **ret_config, struct faults *faults)
{
    return load_error ? load_error : __real_config_load(path, ret_config, faults);
}

int __real_kube_source_start(sd_event *event, const struct kube_source_options *options,
                             struct kube_source **ret_source);
int __wrap_kube_source_start(sd_event *event, const struct kube_source_options *options,
                             struct kube_source **ret_source);
int __wrap_kube_source_start(sd_event *event, const struct kube_source_options *options,
                             struct kube_source **ret_source)
{
    if (!start_error)
        return __real_kube_source_start(event, options, ret_source);
    kube_config_free(options->config);
    *options->status = (struct source_status){ .path = "of what was closed again" };
    return start_error;
}

void __wrap_schedule_pause(struct schedule *schedule);
void __wrap_schedule_pause(struct schedule *schedule)
{
    (void)schedule;
}

void __wrap_schedule_pass(struct schedule *schedule, bool all);
void __wrap_schedule_pass(struct schedule *schedule, bool all)
{
    (void)schedule, (void)all;
}

struct engine *__wrap_engines_find(const struct engines *engines, const struct engine_ops *ops);
struct engine *__wrap_engines_find(const struct engines *engines, const struct engine_ops *ops)
{
    (void)engines, (void)ops;
    return NULL;
}

const struct egress_plan *__wrap_egress_engine_plan(const struct engine *engine);
const struct egress_plan *__wrap_egress_engine_plan(const struct engine *engine)
{
    (void)engine;
    return NULL;
}

struct nat_datapath *__wrap_nat_engine_datapath(struct engine *engine);
struct nat_datapath *__wrap_nat_engine_datapath(struct engine *engine)
{
    (void)engine;
    return NULL;
}

const struct route_plan *__wrap_route_engine_plan(const struct engine *engine);
const struct route_plan *__wrap_route_engine_plan(const struct engine *engine)
{
    (void)engine;
    return NULL;
}

#define NO_TABLE(name)                                               \
    const struct sorted *__wrap_##name(const struct kernel *kernel); \
    const struct sorted *__wrap_##name(const struct kernel *kernel)  \
    {                                                                \
        (void)kernel;                                                \
        return NULL;                                                 \
    }
NO_TABLE(kernel_routes)
NO_TABLE(kernel_rules)
NO_TABLE(kernel_links)

struct fixture {
    struct agent agent;
    char folder[40];
    const struct part *part; /* that is open */
};

static char *path_of(const struct fixture *fx, const char *name)
{
    char *path = text_format("%s/%s", fx->folder, name);
    assert_non_null(path);
    return path;
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    struct agent *agent = &fx->agent;
    strcpy(fx->folder, "/tmp/test_parts.XXXXXX");
    assert_non_null(mkdtemp(fx->folder));
    assert_true(sd_event_new(&agent->event) >= 0);
    assert_int_equal(looks_new(agent->event, &agent->looks), 0);
    assert_int_equal(config_default("/nowhere", &agent->config), 0);
    struct config *config = agent->config;
    free(config->node);
    free(config->paths.run);
    free(config->paths.state);
    free(config->api.listen);
    config->api.listen = NULL;
    config->node = strdup("node-1");
    config->paths.run = path_of(fx, "run");
    config->paths.state = path_of(fx, "state");
    agent->store = store_new();
    agent->status.faults = fault_book_new();
    agent->lock = agent->network_lock = -1;
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *command = text_format("rm -r %s", fx->folder);
    load_error = start_error = 0;
    looks_free(fx->agent.looks);
    if (fx->part)
        fx->part->close(&fx->agent);
    config_free(fx->agent.config);
    store_free(fx->agent.store);
    fault_book_free(fx->agent.status.faults);
    sd_event_unref(fx->agent.event);
    assert_int_equal(system(command), 0);
    free(fx);
    return 0;
}

static void open_part(struct fixture *fx, const struct part *part)
{
    fx->part = part;
    assert_int_equal(part->open(&fx->agent), 0);
}

static bool is_known(const struct fixture *fx, const char *code)
{
    const struct fault_book *faults = fx->agent.status.faults;
    for (size_t i = 0; i < fault_book_count(faults); i++) {
        if (strcmp(known_fault_code(fault_book_at(faults, i)), code) == 0)
            return true;
    }
    return false;
}

static void write_file(const char *path, const char *content)
{
    assert_int_equal(file_write_atomic(path, content, strlen(content)), 0);
}

static void a_reload_without_memory_changes_nothing(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *path = path_of(fx, "agentd.yaml");
    load_error = -ENOMEM;
    assert_null(reload_config(path, fx->agent.config, &fx->agent.status));
    assert_true(is_known(fx, "config-unloadable"));
    assert_true(fx->agent.status.config_refused);
    load_error = 0;
    assert_null(reload_config(path, fx->agent.config, &fx->agent.status));
    assert_false(is_known(fx, "config-unloadable"));
}

/* A folder of the agent's goes, and a file is in its place. */
static void take_folder(const char *path)
{
    AUTOFREE char *command = text_format("rm -r %s", path);
    assert_int_equal(system(command), 0);
    write_file(path, "");
}

static void a_state_folder_that_cannot_be_made_again(void **state)
{
    struct fixture *fx = *state;
    const char *folder = fx->agent.config->paths.state;
    open_part(fx, &part_lock);
    take_folder(folder);
    run_until(&fx->agent, is_known(fx, "node-state-removed"));
    assert_int_equal(unlink(folder), 0);
    run_until(&fx->agent, fault_book_count(fx->agent.status.faults) == 0);
    assert_int_equal(access(folder, F_OK), 0);
}

static void a_socket_that_cannot_be_made_again(void **state)
{
    struct fixture *fx = *state;
    const char *folder = fx->agent.config->paths.run;
    AUTOFREE char *socket = path_of(fx, "run/agentd.sock");
    open_part(fx, &part_api);
    take_folder(folder);
    run_until(&fx->agent, is_known(fx, "node-socket-removed"));
    assert_int_equal(unlink(folder), 0);
    run_until(&fx->agent, fault_book_count(fx->agent.status.faults) == 0);
    assert_int_equal(access(socket, F_OK), 0);
}

/* The agent's own socket is where it was: it was only out of sight. */
static void a_socket_that_is_moved_away_and_back(void **state)
{
    struct fixture *fx = *state;
    const char *folder = fx->agent.config->paths.run;
    AUTOFREE char *away = path_of(fx, "away");
    open_part(fx, &part_api);
    assert_int_equal(rename(folder, away), 0);
    write_file(folder, "");
    run_until(&fx->agent, is_known(fx, "node-socket-removed"));
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(rename(away, folder), 0);
    run_until(&fx->agent, fault_book_count(fx->agent.status.faults) == 0);
}

static void write_kubeconfig(struct fixture *fx, const char *server)
{
    AUTOFREE char *text = text_format(
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: "
        "{cluster: a, user: a}}], clusters: [{name: a, cluster: {server: '%s'}}], users: "
        "[{name: a, user: {token: x}}]}\n",
        server);
    write_file(fx->agent.config->source.kubeconfig, text);
}

static void an_api_behind_its_own_address(void **state)
{
    struct fixture *fx = *state;
    struct config *config = fx->agent.config;
    struct prefix network;
    assert_int_equal(prefix_parse("10.96.0.0/12", &network), 0);
    assert_int_equal(vec_push(&config->services.service_cidrs, network), 0);
    config->services.enabled = true;
    config->source.kubernetes = true;
    free(config->source.manifests);
    config->source.manifests = NULL;
    config->source.kubeconfig = path_of(fx, "kubeconfig");
    write_kubeconfig(fx, "https://10.96.0.1:443");
    open_part(fx, &part_source);
    assert_true(is_known(fx, "api-address-circular"));

    /* What can't be gone over to is told; the API is asked as before. */
    const struct kube_source *before = fx->agent.kube;
    start_error = -EMFILE;
    write_kubeconfig(fx, "https://192.0.2.1:6443");
    part_source.reload(&fx->agent);
    assert_true(is_known(fx, "kubeconfig-unusable"));
    assert_ptr_equal(fx->agent.kube, before);
    assert_string_equal(fx->agent.status.source.path, "https://10.96.0.1:443");
    assert_true(is_known(fx, "api-address-circular"));

    start_error = 0;
    part_source.reload(&fx->agent);
    assert_false(is_known(fx, "kubeconfig-unusable"));
    assert_false(is_known(fx, "api-address-circular"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_reload_without_memory_changes_nothing),
        TEST(a_state_folder_that_cannot_be_made_again),
        TEST(a_socket_that_cannot_be_made_again),
        TEST(a_socket_that_is_moved_away_and_back),
        TEST(an_api_behind_its_own_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
