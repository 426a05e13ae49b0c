// SPDX-License-Identifier: Apache-2.0
/* Counts repairs per minute; see rival.h. */
#include "engine/rival.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/files/file.h"
#include "faults/kernel.h"
#include "faults/raise.h"

enum { TOLERATED = 20 }; /* repairing passes a minute: manual changes stay below this */

static bool fights(const struct rival *rival)
{
    return rival->repairs > TOLERATED;
}

/* The command of a process, truncated to 15 bytes by the kernel; empty: there is none. */
static void read_name(uint32_t pid, char ret_name[16])
{
    char path[64];
    AUTOFREE char *text = NULL;
    size_t size;
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
    ret_name[0] = '\0';
    if (file_read(path, 64, &text, &size) == 0)
        snprintf(ret_name, 16, "%.*s", (int)strcspn(text, "\n"), text);
}

void rival_note(struct rival *rival, uint32_t writer, int64_t now_ms)
{
    bool over =
        fights(rival) ? !rival_present(rival, now_ms) : now_ms - rival->window_ms > MINUTE_MS;
    if (over)
        *rival = (struct rival){ .window_ms = now_ms };
    rival->repairs++;
    rival->last_ms = now_ms;
    if (!writer)
        return;
    const bool begins = rival->repairs <= TOLERATED + 1;
    const bool named = writer == rival->writer && rival->name[0];
    if (begins || (writer == rival->latest && !named)) {
        rival->writer = writer;
        if (fights(rival))
            read_name(writer, rival->name);
    }
    rival->latest = writer;
}

bool rival_present(const struct rival *rival, int64_t now_ms)
{
    return fights(rival) && now_ms - rival->last_ms < RIVAL_CALM_MS;
}

void rival_fault(const struct rival *rival, struct faults *faults)
{
    fault_raise(faults, "foreign writer", foreign_writer, .port = rival->writer,
                .process = rival->name[0] ? rival->name : "gone");
}
