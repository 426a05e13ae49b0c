// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl cleanup`: leaves nothing of ours behind, with agentd stopped or crashed.
 *
 * The state folder's lock tells whether an agent runs: cleaning up behind its back would only be
 * repaired at once. What is removed is told from everything else by protocol numbers, and of
 * service NAT by its pins, names and aliases.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentctl/ctl.h"
#include "apply/cleanup.h"
#include "base/files/lock.h"
#include "base/ours.h"
#include "base/text.h"
#include "config/config.h"
#include "format/json.h"

static const char default_config[] = "/etc/fingerpost/agentd.yaml";

static void print_faults(const struct faults *faults)
{
    vec_each(const struct fault, fault, &faults->list)
        fprintf(stderr, "agentctl: %s: %s\n", fault->place, fault->message);
}

/* The operator's words end with the installation. */
static void forget_standing(const struct config *config)
{
    AUTOFREE char *path = text_format("%s/standing.json", config->paths.state);
    if (path && unlink(path) < 0 && errno != ENOENT)
        fprintf(stderr, "agentctl: %s: %s\n", path, strerror(errno));
}

static void report_words(const struct cleanup_counts *counts)
{
    AUTOTEXT struct text out = { 0 };

    text_add_count(&out, counts->routes, "route");
    text_add(&out, " and ");
    text_add_count(&out, counts->rules, "rule");
    text_add(&out, " removed\n");
    if (counts->addresses) {
        text_add(&out, "addresses: ");
        text_add_count(&out, counts->addresses, "claimed one");
        text_add(&out, " removed\n");
    }
    if (counts->programs || counts->pins || counts->svc0) {
        text_add(&out, "service NAT: ");
        text_add_count(&out, counts->programs, "program");
        text_add(&out, " and ");
        text_add_count(&out, counts->pins, "pin");
        text_addf(&out, " removed%s\n", counts->svc0 ? ", and svc0" : "");
    }
    if (counts->nftables)
        text_add(&out, "table inet " OURS_NFTABLES_TABLE " of nftables removed\n");
    printf("%s", text_str(&out));
}

static void report(const struct ctl *ctl, const struct cleanup_counts *counts)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    if (!ctl->json) {
        report_words(counts);
        return;
    }
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "Cleanup");
    json_int(&json, "routes", counts->routes);
    json_int(&json, "rules", counts->rules);
    json_int(&json, "programs", counts->programs);
    json_int(&json, "pins", counts->pins);
    json_bool(&json, "svc0", counts->svc0);
    json_int(&json, "addresses", counts->addresses);
    json_bool(&json, "nftables", counts->nftables);
    json_end_object(&json);
    printf("%s\n", text_str(&out));
}

static int clean(const struct ctl *ctl, const struct config *config)
{
    pid_t holder = 0;
    AUTOCLOSE int lock = lock_take(config->paths.state, &holder);
    if (lock == -EBUSY) {
        fprintf(stderr,
                "agentctl: agentd (process %d) runs on %s: stop it first (systemctl stop agentd)\n",
                (int)holder, config->paths.state);
        return EXIT_FAILED;
    }
    if (lock < 0) {
        fprintf(stderr, "agentctl: cannot lock %s: %s\n", config->paths.state, strerror(-lock));
        return lock == -EACCES || lock == -EPERM ? EXIT_PERMISSION : EXIT_FAILED;
    }

    AUTOFAULTS struct faults faults = { 0 };
    struct cleanup_counts counts = { 0 };
    int r = cleanup_kernel(config->routes.table, CLEANUP_ALL, &counts, &faults);
    int nat = cleanup_nat(config->paths.bpf, &counts, &faults);
    int firewall = cleanup_firewall(&counts, &faults);
    print_faults(&faults);
    if (r < 0 && r != -EIO)
        fprintf(stderr, "agentctl: cannot read the kernel's tables: %s\n", strerror(-r));
    if (r < 0 || nat < 0 || firewall < 0)
        return EXIT_FAILED;
    forget_standing(config);
    report(ctl, &counts);
    return EXIT_OK;
}

int verb_cleanup(const struct ctl *ctl, char **args)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(config_freep) struct config *config = NULL;

    (void)args;
    int r = config_load(ctl->config ? ctl->config : default_config, &config, &faults);
    if (r < 0) {
        print_faults(&faults);
        fprintf(stderr, "agentctl: cleanup needs the configuration for its table and state folder; "
                        "another one: --config FILE\n");
        return EXIT_FAILED;
    }
    return clean(ctl, config);
}
