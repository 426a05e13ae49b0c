/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of tls_servers.py, for all tests of a program. */
#pragma once

#include <sys/types.h>

extern struct tls_servers {
    char folder[40];
    pid_t child;
    int input;                                                 /* they end when this is closed */
    unsigned here, named, other, clients, proxy, replaced, v6; /* ports */
} tls_servers;

/* Of a group of tests. */
int tls_servers_start(void **state);
int tls_servers_stop(void **state);

char *tls_servers_path(const char *name); /* of a file of theirs; the caller frees it */
