/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server at a configured address, like those of kube-proxy. An address that can't be
 * bound is a fault, and is retried with increasing delay. Called by health.c, and by the agent for
 * api.listen.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "loop/http.h"
#include "status/fault_book.h"

struct endpoint;

/* Options that do not change while the server runs. */
struct endpoint_options {
    sd_event *event;
    struct fault_book *faults;
    const char *subsystem, *group; /* in the fault book; static, like the next three */
    const char *setting;           /* "services.healthz": the place of the fault */
    const char *what;              /* "/healthz and /livez" */
    const char *taken;             /* the remedy where another program uses the port */
    http_handler handle;
    void *context; /* of `handle` */
};

/*
 * Serves at "address:port" (0.0.0.0 and [::] are every address of both families) instead of the
 * previous address. With NULL it serves nowhere, and its fault ends. `*endpoint` belongs to the
 * caller, and is NULL at first. Returns 0, also if the address can't be bound now; or -errno.
 */
int endpoint_serve(struct endpoint **endpoint, const struct endpoint_options *options,
                   const char *address);

/* Does not touch its fault in the book: the book may be freed already. */
void endpoint_free(struct endpoint *endpoint);
