/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sockets of all programs have in common: a table of routes by method and path, who may
 * call each, and how much of a body is kept; and the pages for everybody, /metrics, /livez and
 * /readyz.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "loop/http.h"

enum right {
    RIGHT_READ, /* who may connect: the socket's mode and group say so */
    RIGHT_ROOT, /* uid 0 by SO_PEERCRED */
};

struct route_head {
    const char *method, *path; /* a path that ends with '/' is of all below it */
    enum right right;
    size_t body_max; /* bytes; 0: a body means nothing, and is dropped */
};

/* Rows of any type that begins with a route_head. */
struct router {
    const void *rows;
    size_t count, size;
};

#define ROUTER(table)                                                           \
    {                                                                           \
        .rows = (table), .count = ARRAY_SIZE(table), .size = sizeof((table)[0]) \
    }

/* For http_admission: refuses who may not call, and bodies that are no JSON. */
size_t router_admit(const struct router *router, const struct http_request *request,
                    struct http_reply *reply);

/*
 * The row for a request, or NULL. `*ret_refused`: there is one, but who asks may not call it, and
 * the reply says so.
 */
const void *router_find(const struct router *router, const struct http_request *request,
                        struct http_reply *reply, bool *ret_refused);

/* The pages for everybody. */
struct public_pages {
    void (*metrics)(const void *state, struct text *out); /* Prometheus text format 0.0.4 */
    /* True: ready. Else writes the reason, a line. */
    bool (*is_ready)(const void *state, struct text *out);
};

void public_handle(const struct public_pages *pages, const void *state,
                   const struct http_request *request, struct http_reply *reply);
