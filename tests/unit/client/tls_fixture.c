// SPDX-License-Identifier: Apache-2.0
#include "tls_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cmocka_all.h"

struct tls_servers tls_servers;

static void begin(int input, int output)
{
    (void)dup2(input, 0);
    (void)dup2(output, 1);
    execl("/usr/bin/python3", "python3", TLS_SERVERS, tls_servers.folder, NULL);
    _exit(127);
}

static void read_ports(int fd)
{
    char line[64] = "";
    FILE *output = fdopen(fd, "r");
    assert_non_null(output);
    assert_non_null(fgets(line, sizeof(line), output));
    (void)fclose(output);
    assert_int_equal(sscanf(line, "%u %u %u %u %u %u %u", &tls_servers.here, &tls_servers.named,
                            &tls_servers.other, &tls_servers.clients, &tls_servers.proxy,
                            &tls_servers.replaced, &tls_servers.v6),
                     7);
}

int tls_servers_start(void **state)
{
    (void)state;
    int in[2], out[2];
    strcpy(tls_servers.folder, "/tmp/tls_servers.XXXXXX");
    assert_non_null(mkdtemp(tls_servers.folder));
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    tls_servers.child = fork();
    assert_true(tls_servers.child >= 0);
    if (tls_servers.child == 0) {
        (void)close(in[1]);
        begin(in[0], out[1]);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    tls_servers.input = in[1];
    read_ports(out[0]);
    return 0;
}

int tls_servers_stop(void **state)
{
    (void)state;
    AUTOFREE char *command = text_format("rm -r '%s'", tls_servers.folder);
    (void)close(tls_servers.input);
    assert_int_equal(waitpid(tls_servers.child, NULL, 0), tls_servers.child);
    return system(command);
}

char *tls_servers_path(const char *name)
{
    return text_format("%s/%s", tls_servers.folder, name);
}
