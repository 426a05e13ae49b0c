/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two engines and a kernel that note what they are asked, and do as the test says. The kernel takes
 * the place of apply/mirror/kernel.c by the linker's --wrap, so that no test here needs root.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "engine/engines.h"

struct fakes {
    /* What was called since fakes_calls(): "read first.note second.note ... second.publish". */
    struct text calls;
    const char *failing; /* the call that returns -EIO: "second.write", "read"; NULL: none */
    void (*during)(const char *call);

    /* What both engines say. */
    enum progress progress;
    int64_t next_ms;
    uint32_t repairs;

    struct round published; /* as the last publish saw it; its lists are not kept */
    uint32_t resyncs, applied;

    struct kernel_events pending, events; /* not read yet; read */
    int fd;
};

extern struct fakes fakes;

/* Note, hear, plan, withdraw, write, publish, and all else. */
extern const struct engine_ops fake_first, fake_second;
/* One with nothing but what every engine must have. */
extern const struct engine_ops fake_bare;
/* First, second, NULL. */
extern const struct engine_ops *const fake_table[];

void fakes_begin(void);
void fakes_end(void);

/* Forgets what was called, and returns it: valid until the next call of this. */
const char *fakes_calls(void);

struct kernel *fake_kernel(void);
/* Somebody changed something: it is there to be read. */
void fake_kernel_tell(const struct kernel_events *events);

/* Namespaces, of which nothing is decided: "a change" and no more. */
void fake_put(struct store *store, const char *name);
