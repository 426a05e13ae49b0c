/* SPDX-License-Identifier: Apache-2.0 */
/* What every verb is given. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses are an interface, see docs/api.md. */
enum {
    EXIT_OK = 0,
    EXIT_DIFFERS = 1, /* status: degraded; faults: some; diff: different; config check: invalid */
    EXIT_FAILED = 2,
    EXIT_UNREACHABLE = 3,
    EXIT_UNKNOWN = 4, /* no such object */
    EXIT_USAGE = 64,
    EXIT_PERMISSION = 77,
};

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Who is asked. */
struct server {
    const char *name, *unit; /* "agent", "agentd" */
    const char *socket;      /* where it answers by default */
    const char *without;     /* how things are without it */
    const char *status_path; /* which has its version */
};

extern const struct server server_agent, server_controller;

/* The options as given, and what follows from the terminal. */
struct ctl {
    bool json, wide, names; /* -o: at most one of them */
    bool no_header, verbose, help, no_wait, watch, brief, ports, write, running;
    const char *columns; /* -c as given, checked; NULL: the verb's own choice */
    enum color_when color_when;
    const struct server *server;
    const char *socket;
    int64_t timeout_ms;
    int64_t wait_ms; /* -1: not asked for */
    const char *folder, *config, *node, *service;
    const char *controller;            /* plan: the controller's configuration */
    const char *code;                  /* of faults */
    const char *reason, *announce_for; /* drain, withdraw; NULL: not given */
    const char *in;                    /* trace: where the packet comes in */
    int64_t limit;                     /* 0: not given */
    uint32_t asn, peer_asn;            /* 0: not given */
    bool color;                        /* colour the state words */
    const char *ellipsis;              /* where a cell of a table is cut */
    const char *mid; /* the dot between parts of a line, or "-" where it can't be shown */
};

/* Each returns an exit status. `args` ends with NULL. */
int verb_status(const struct ctl *ctl, char **args);
int verb_faults(const struct ctl *ctl, char **args);
int verb_help_fault(const struct ctl *ctl, char **args);
int verb_routes(const struct ctl *ctl, char **args);
int verb_blocks(const struct ctl *ctl, char **args);
int verb_peers(const struct ctl *ctl, char **args);
int verb_services(const struct ctl *ctl, char **args);
int verb_backends(const struct ctl *ctl, char **args);
int verb_flows(const struct ctl *ctl, char **args);
int verb_egress(const struct ctl *ctl, char **args);
int verb_controller_blocks(const struct ctl *ctl, char **args);
int verb_controller_requests(const struct ctl *ctl, char **args);
int verb_controller_egresses(const struct ctl *ctl, char **args);
int verb_export(const struct ctl *ctl, char **args);
int verb_addresses(const struct ctl *ctl, char **args);
int verb_pods(const struct ctl *ctl, char **args);
int verb_pools(const struct ctl *ctl, char **args);
int verb_maps(const struct ctl *ctl, char **args);
int verb_verify(const struct ctl *ctl, char **args);
int verb_explain(const struct ctl *ctl, char **args);
int verb_trace(const struct ctl *ctl, char **args);
int verb_doctor(const struct ctl *ctl, char **args);
int verb_diff(const struct ctl *ctl, char **args);
int verb_plan(const struct ctl *ctl, char **args);
int verb_config_check(const struct ctl *ctl, char **args);
int verb_config_show(const struct ctl *ctl, char **args);
int verb_drain(const struct ctl *ctl, char **args);
int verb_undrain(const struct ctl *ctl, char **args);
int verb_withdraw(const struct ctl *ctl, char **args);
int verb_setup(const struct ctl *ctl, char **args);
int verb_controller(const struct ctl *ctl, char **args);
int verb_cleanup(const struct ctl *ctl, char **args);
