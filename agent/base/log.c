// SPDX-License-Identifier: Apache-2.0
/* Lines on stderr; see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static enum log_level threshold = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    threshold = level;
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level > threshold)
        return;

    char line[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < ' ')
            *c = ' ';
    }
    /* systemd sets JOURNAL_STREAM for a service whose stderr is the journal. */
    if (getenv("JOURNAL_STREAM"))
        fprintf(stderr, "<%d>%s\n", (int)level, line);
    else
        fprintf(stderr, "%s\n", line);
}
