// SPDX-License-Identifier: Apache-2.0
/*
 * Where lines go; see log.h, and journal.h for the way into the journal.
 *
 * The journal knows when a line came; a terminal, a file or a container's log may not, so there the
 * daemon's lines begin with the time.
 *
 * A line that the journal's socket refuses goes to stderr, which systemd connected to the journal
 * as well; "<4>" in front keeps its level there.
 */
#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/journal.h"

static bool opened, under_journal;
static struct journal journal = { .fd = -1 };

void log_open(void)
{
    opened = true;
    under_journal = journal_owns(STDERR_FILENO);
    if (under_journal && journal.fd < 0)
        (void)journal_open(JOURNAL_SOCKET, &journal);
}

static void write_line(enum log_level level, const char *message_id, const struct log_field *fields,
                       const char *format, va_list args)
{
    char line[2048], time[CLOCK_STRLEN];
    const int64_t now_wall_ms = clock_wall_ms();
    (void)vsnprintf(line, sizeof(line), format, args);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < ' ')
            *c = ' ';
    }
    struct journal_entry entry = {
        .priority = (int)level,
        .message_id = message_id,
        .message = line,
        .fields = fields,
    };
    if (under_journal && journal_send(&journal, &entry) == 0)
        return;
    if (under_journal)
        fprintf(stderr, "<%d>%s\n", (int)level, line);
    else if (opened)
        fprintf(stderr, "%s %s\n", clock_rfc3339_ms(now_wall_ms, time), line);
    else
        fprintf(stderr, "%s\n", line);
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(level, NULL, NULL, format, args);
    va_end(args);
}

void log_event(const struct log_event *event, const struct log_field *fields, const char *format,
               ...)
{
    va_list args;
    va_start(args, format);
    write_line(event->level, event->message_id, fields, format, args);
    va_end(args);
}
