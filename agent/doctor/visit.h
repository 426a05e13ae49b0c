/* SPDX-License-Identifier: Apache-2.0 */
/* What a check is given, and how it says what it found. Internal to doctor/. */
#pragma once

#include "apply/mirror/kernel.h"
#include "base/fault.h"
#include "base/macro.h"
#include "config/config.h"
#include "detect/detector.h"
#include "doctor/finding.h"
#include "store/store.h"

struct check;

/* One run of the checks. What could not be had is NULL, and the check that says so is another. */
struct visit {
    const char *path;   /* of the configuration */
    const char *socket; /* where agentd listens */
    int64_t timeout_ms; /* for each answer */
    struct config *config;
    struct faults config_faults; /* why there is no configuration */
    struct kernel *kernel;
    struct store *store;        /* of the manifests */
    struct faults store_faults; /* of the manifests */
    int store_error;            /* -errno: the folder can't be read */
    bool running;               /* an agent listens */
    const struct check *check;  /* the one at work */
    struct findings *findings;
    int error;
};

struct check {
    const char *name, *what, *wanted;
    void (*run)(struct visit *visit);
};

/* What is good, and worth a line. At most one per check; none is "ok" without words. */
void visit_good(struct visit *visit, const char *format, ...) PRINTF_LIKE(2, 3);
/* Why the check does not apply. */
void visit_skip(struct visit *visit, const char *format, ...) PRINTF_LIKE(2, 3);
/* What is wrong: with what to do about it. A warning leaves the exit status alone. */
void visit_warn(struct visit *visit, const char *remedy, const char *format, ...) PRINTF_LIKE(3, 4);
void visit_fail(struct visit *visit, const char *remedy, const char *format, ...) PRINTF_LIKE(3, 4);

/* A detector's judgement of the facts as they are now, with the words of the catalogue; `figures`
 * stand behind each message. Returns whether it found something. */
bool visit_detect(struct visit *visit, const struct detector *detector,
                  const struct detector_facts *facts, const char *figures);

/* The tables of checks; each ends with a NULL name. */
extern const struct check machine_checks[];
extern const struct check config_checks[];
extern const struct check user_checks[];
extern const struct check link_checks[];
extern const struct check neighbour_checks[];
extern const struct check rival_checks[];
extern const struct check cert_checks[];
extern const struct check firewall_checks[];
extern const struct check segment_checks[];
extern const struct check store_checks[];
extern const struct check pod_checks[];
extern const struct check bird_checks[];
extern const struct check bird_release_checks[];
extern const struct check kube_checks[];
