/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the files of the export planner. Internal to plan/. */
#pragma once

#include "base/fault.h"
#include "base/macro.h"
#include "base/text.h"
#include "plan/export/export_plan.h"
#include "store/store.h"

/* The state of one run of the planner. */
struct exporting {
    const struct export_config *config;
    const struct store *store;
    int64_t now_wall_ms;
    bool ids_only; /* documents have no value, and the list of nodes is left out */
    struct export_plan *plan;
    struct faults *faults;
};

/*
 * Adds the documents of a Service that requests the export, or its refusal. Returns 0 or -ENOMEM.
 */
int export_service(struct exporting *exporting, const struct service *service);

/* Whether a Service requests the export, and its type can be exported. */
bool export_is_asked(const struct export_config *config, const struct service *service);

/* Refuses the Service: the first reason counts. Returns 0 or -ENOMEM. */
int export_refuse(struct exporting *exporting, const struct service *service, const char *remedy,
                  const char *format, ...) PRINTF_LIKE(4, 5);

/* Adds the list of nodes. Returns 0 or -ENOMEM. */
int export_nodes(struct exporting *exporting);

/* The members that kube-service-exporter does not have; `out` ends with custom_attrs. Returns 0 or
 * -ENOMEM. */
int export_details(const struct exporting *exporting, const struct service *service,
                   const struct service_port *port, enum export_addresses addresses,
                   struct text *out);
