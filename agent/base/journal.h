/* SPDX-License-Identifier: Apache-2.0 */
/* systemd's journal by its native protocol: entries with fields. For log.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

struct journal {
    int fd; /* -1: not open */
    struct sockaddr_un address;
    uint64_t lost; /* entries dropped since the last one that went through */
};

struct journal_entry {
    int priority;           /* of syslog */
    const char *message_id; /* NULL: none */
    const char *message;
    const struct log_field *fields; /* NULL: none */
};

/*
 * True if systemd connected the descriptor to the journal: JOURNAL_STREAM names its device and
 * inode. The variable alone says nothing; it is inherited by who was given another stderr.
 */
bool journal_owns(int fd);

/* Returns 0 or -errno (-ENAMETOOLONG). Nobody need listen at the path yet. */
int journal_open(const char *path, struct journal *ret_journal);
void journal_close(struct journal *journal);

/*
 * Sends one entry. While the journal takes nothing, entries are dropped and counted (0 is
 * returned). Returns 0 or -errno: -ENOTCONN if it is not open, -ENOMEM, or what sendto() says.
 */
int journal_send(struct journal *journal, const struct journal_entry *entry);
