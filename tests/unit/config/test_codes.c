// SPDX-License-Identifier: Apache-2.0
/* Each fault of a configuration file as it is written: a file that has it, and the code. */
#include "loading.h"

#include "config/controller_config.h"
#include "raised.h"

#define CLUSTER "source: {kubernetes: {}}\n"
#define NINE                                                                                   \
    "192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7, 192.0.2.8, " \
    "192.0.2.9"

static int load_agent(const char *path, struct faults *errors)
{
    CLEANUP(config_freep) struct config *config = NULL;
    return config_load(path, &config, errors);
}

static int load_controller(const char *path, struct faults *errors)
{
    CLEANUP(controller_config_freep) struct controller_config *config = NULL;
    return controller_config_load(path, &config, errors);
}

static void assert_code(int (*read)(const char *path, struct faults *errors), const char *text,
                        const char *code)
{
    AUTOFAULTS struct faults errors = { 0 };
    char path[64];
    AUTOCLOSE int fd = memfd_create("config", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (read(path, &errors) != -EBADMSG)
        fail_msg("is taken:\n%s", text);
    (void)raised(&errors, code);
    assert_int_equal(errors.list.count, 1);
}

static const struct {
    const char *code, *text;
} agents[] = {
    { "config-key-missing", "routes: {}\n" },
    { "config-key-unknown", SOURCE "colour: red\n" },
    { "config-key-misspelt", SOURCE "routes: {tabel: 119}\n" },
    { "config-key-misplaced", SOURCE "holdDown: {}\n" },
    { "config-key-of-other-file", SOURCE "election: {}\n" },
    { "config-duration-long", SOURCE "routes: {holdDown: {max: 1000000000h}}\n" },
    { "config-size-out-of-range", "source: {manifests: /m, maxFileSize: 0}\n" },
    { "config-table-unusable", SOURCE "routes: {table: 254}\n" },
    { "config-list-too-long", SOURCE "egress: {gateway: {addresses: [" NINE "]}}\n" },
    { "config-peer-name-wrong", SOURCE "bird: {socket: /s, expectPeers: [a b]}\n" },
    { "config-claim-duration-wrong", CLUSTER "addresses: {duration: 4500ms}\n" },
    { "config-claims-storeless", SOURCE "addresses: {}\n" },
    { "config-pools-in-cluster", CLUSTER "pools: {allocate: true}\n" },
    { "config-routes-needed-by-pods", CLUSTER "routes: {enabled: false}\npods: {enabled: true}\n" },
    { "config-export-setting-wrong", CLUSTER "consul: {clusterID: a b}\n" },
};

static void an_agents_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
        assert_code(load_agent, agents[i].text, agents[i].code);
}

static void a_controllers_file(void **state)
{
    (void)state;
    AUTOFREE char *name = calloc(1, 4098);
    memset(name, 'a', 4097);
    AUTOFREE char *text =
        text_format(CLUSTER "consul: {clusterID: c, nodeSelectors: [%s]}\n", name);
    assert_code(load_controller, text, "config-name-too-long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agents_file),
        cmocka_unit_test(a_controllers_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
