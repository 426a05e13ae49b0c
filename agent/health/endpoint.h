/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server at an address of the configuration, as kube-proxy has some: an address that
 * can't be had is a fault, and is tried again, later each time. Called by health.c, and by the
 * agent for api.listen.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "loop/http.h"
#include "status/fault_book.h"

struct endpoint;

/* What does not change while it serves. */
struct endpoint_options {
    sd_event *event;
    struct fault_book *faults;
    const char *subsystem, *group; /* in the book; static, as the next three */
    const char *setting;           /* "services.healthz": the place of the fault */
    const char *what;              /* "/healthz and /livez" */
    const char *taken;             /* what to do where another program has the port */
    http_handler handle;
    void *context; /* of `handle` */
};

/*
 * Serves at "address:port" (0.0.0.0 and [::] are every address of both families), in place of where
 * it did; NULL: nowhere, and no fault of it stays. `*endpoint` is the caller's, NULL at first.
 * Returns 0, also if the address can't be had now; or -errno.
 */
int endpoint_serve(struct endpoint **endpoint, const struct endpoint_options *options,
                   const char *address);

/* Leaves the fault in the book, which may be gone. */
void endpoint_free(struct endpoint *endpoint);
