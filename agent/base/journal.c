// SPDX-License-Identifier: Apache-2.0
/*
 * Entries for systemd's journal, written by hand so that base needs libc only.
 *
 * An entry is one datagram of fields: "KEY=value\n", or, for a value with a newline in it,
 * "KEY\n", the value's length as 64 bits little endian, the value, "\n". So no value can smuggle
 * in a field of its own. Values are cut at 4 KiB: an entry stays far below the size from which on
 * it would have to be passed as a file.
 *
 * systemd holds the socket while the journal restarts, so it is addressed anew with each entry and
 * never reconnected. A send waits for a full queue at most 100 ms (SO_SNDTIMEO), and not at all
 * again before an entry went through: a journal that hangs must not hold up the loop. How many
 * entries that cost is the next one's company.
 */
#include "base/journal.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

enum {
    VALUE_LIMIT = 4096,
    PATIENCE_US = 100 * 1000,
};

bool journal_owns(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat st;
    return stream && sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) == 2 &&
           fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

int journal_open(const char *path, struct journal *ret_journal)
{
    struct journal journal = { .address = { .sun_family = AF_UNIX } };
    struct timeval patience = { .tv_usec = PATIENCE_US };
    if (strlen(path) >= sizeof(journal.address.sun_path))
        return -ENAMETOOLONG;
    strcpy(journal.address.sun_path, path);

    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
        return -errno;
    journal.fd = TAKE_FD(fd);
    *ret_journal = journal;
    return 0;
}

void journal_close(struct journal *journal)
{
    closep(&journal->fd);
    journal->fd = -1;
}

static void add_field(struct text *datagram, const char *key, const char *value)
{
    size_t length = strnlen(value, VALUE_LIMIT);
    text_add(datagram, key);
    if (memchr(value, '\n', length)) {
        uint64_t length_le = htole64(length);
        text_add_char(datagram, '\n');
        text_add_bytes(datagram, (const char *)&length_le, sizeof(length_le));
    } else {
        text_add_char(datagram, '=');
    }
    text_add_bytes(datagram, value, length);
    text_add_char(datagram, '\n');
}

static void add_entry(struct text *datagram, const struct journal_entry *entry)
{
    text_addf(datagram, "PRIORITY=%d\n", entry->priority);
    add_field(datagram, "SYSLOG_IDENTIFIER", program_invocation_short_name);
    if (entry->message_id)
        add_field(datagram, "MESSAGE_ID", entry->message_id);
    for (const struct log_field *field = entry->fields; field && field->key; field++) {
        if (field->value)
            add_field(datagram, field->key, field->value);
    }
    add_field(datagram, "MESSAGE", entry->message);
}

static int send_entry(struct journal *journal, const struct journal_entry *entry)
{
    AUTOTEXT struct text datagram = { 0 };
    add_entry(&datagram, entry);
    int r = text_error(&datagram);
    if (r < 0)
        return r;
    ssize_t sent = sendto(journal->fd, datagram.data, datagram.length,
                          MSG_NOSIGNAL | (journal->lost ? MSG_DONTWAIT : 0),
                          (const struct sockaddr *)&journal->address, sizeof(journal->address));
    return sent < 0 ? -errno : 0;
}

static void report_lost(struct journal *journal)
{
    char message[64];
    snprintf(message, sizeof(message), "%" PRIu64 " lines before this one were lost",
             journal->lost);
    if (send_entry(journal, &(struct journal_entry){ .priority = LOG_LEVEL_WARNING,
                                                     .message = message }) == 0)
        journal->lost = 0;
}

int journal_send(struct journal *journal, const struct journal_entry *entry)
{
    if (journal->fd < 0)
        return -ENOTCONN;
    if (journal->lost)
        report_lost(journal);
    int r = send_entry(journal, entry);
    if (r == -EAGAIN) {
        journal->lost++;
        return 0;
    }
    return r;
}
