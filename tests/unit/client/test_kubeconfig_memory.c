// SPDX-License-Identifier: Apache-2.0
/* A kubeconfig for which memory is short, at every single allocation of ours. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "client/kube/kubeconfig.h"

#include "cmocka_all.h"
#include "failing_malloc.h"

enum { MOST_ALLOCATIONS = 100000 };

static const char content[] =
    "current-context: a\n"
    "contexts: [{ name: a, context: { cluster: b, user: c } }]\n"
    "clusters: [{ name: b, cluster: { server: 'https://a', certificate-authority: ca.crt,\n"
    "  proxy-url: 'http://p:1' } }]\n"
    "users: [{ name: c, user: { client-certificate-data: LS0tLS1CRUdJTiBYLS0tLS0K,\n"
    "  client-key: key, token: t } }]\n";

static void none_is_lost_or_missed(void **state)
{
    (void)state;
    char path[] = "/tmp/test_kubeconfig_memory.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write_atomic(path, content, strlen(content)), 0);

    int r = -ENOMEM;
    for (int most = 0; r < 0; most++) {
        AUTOFAULTS struct faults errors = { 0 };
        CLEANUP(kube_config_freep) struct kube_config *config = NULL;
        allocations_left = most;
        r = kube_config_load(path, &config, &errors);
        allocations_left = -1;
        assert_true(r == 0 || r == -ENOMEM);
        assert_true((r == 0) == (config != NULL));
        assert_true(most < MOST_ALLOCATIONS);
        if (config)
            assert_true(config->ca_file && config->cert_data && config->key_file && most > 5);
    }
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(none_is_lost_or_missed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
