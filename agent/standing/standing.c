// SPDX-License-Identifier: Apache-2.0
/*
 * Drain, withdrawal, and removal of the node; see standing.h.
 *
 * Timers: the end of the current phase, and the end of waiting for a deleted Node object.
 */
#include "standing/standing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/text.h"
#include "faults/node.h"
#include "faults/raise.h"
#include "format/json.h"
#include "format/reader.h"
#include "loop/timer.h"

struct standing_keeper {
    struct standing_options options;
    const struct config *config;
    struct timer *phase_timer, *node_timer;
    bool waiting_for_node;
    bool unknown;            /* no Node has this node's name, and none ever had */
    int64_t announce_for_ms; /* as given for this drain; -1: as configured */
};

/* The record in the state folder. */
struct kept {
    enum standing_phase phase;
    bool node_seen;
    char reason[STANDING_REASON_MAX + 1];
    int64_t announce_for_ms;
};

static enum standing standing_now(const struct standing_keeper *keeper)
{
    const struct standing_status *status = &keeper->options.status->standing;
    if (status->node_gone)
        return STANDING_GONE;
    switch (status->phase) {
    case PHASE_SERVING:
        return STANDING_SERVING;
    case PHASE_DRAINING:
        return STANDING_DRAINING;
    case PHASE_WITHDRAWING:
    case PHASE_DRAINED:
        return STANDING_WITHDRAWN;
    }
    return STANDING_SERVING;
}

static char *state_path(const struct standing_keeper *keeper)
{
    return text_format("%s/standing.json", keeper->config->paths.state);
}

/* The current record. */
static struct kept kept_now(const struct standing_keeper *keeper)
{
    const struct standing_status *status = &keeper->options.status->standing;
    struct kept kept = {
        .phase = status->phase,
        .node_seen = status->node_seen,
        .announce_for_ms = keeper->announce_for_ms,
    };
    memcpy(kept.reason, status->reason, sizeof(kept.reason));
    return kept;
}

static int save(const struct standing_keeper *keeper, const struct kept *kept)
{
    AUTOFREE char *path = state_path(keeper);
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    json_begin_object(&json, NULL);
    json_string(&json, "phase", standing_phase_name(kept->phase));
    json_bool(&json, "nodeSeen", kept->node_seen);
    if (*kept->reason)
        json_string(&json, "reason", kept->reason);
    if (kept->announce_for_ms >= 0)
        json_int(&json, "announceForMs", kept->announce_for_ms);
    json_end_object(&json);
    text_add_char(&out, '\n');
    if (!path || text_error(&out) < 0)
        return -ENOMEM;
    return file_write_atomic(path, text_str(&out), out.length);
}

static int read_phase(const struct document *document, enum standing_phase *ret_phase,
                      struct faults *faults)
{
    const struct doc *node = doc_get(document->root, "phase");
    const char *name = "";
    if (doc_string(document, node, &name, faults) < 0)
        return -EBADMSG;
    for (enum standing_phase phase = PHASE_SERVING; phase <= PHASE_DRAINED; phase++) {
        if (strcmp(name, standing_phase_name(phase)) == 0) {
            *ret_phase = phase;
            return 0;
        }
    }
    doc_raise(document, node, faults, document_value_unexpected,
              .expected = "serving, draining, withdrawing or drained");
    return -EBADMSG;
}

static int read_kept(const struct document *document, struct kept *kept, struct faults *faults)
{
    const struct doc *root = document->root;
    const char *reason = "";
    int r = read_phase(document, &kept->phase, faults);
    if (r < 0)
        return r;
    r = doc_bool(document, doc_get(root, "nodeSeen"), &kept->node_seen, faults);
    if (r < 0)
        return r;
    r = doc_string(document, doc_get(root, "reason"), &reason, faults);
    if (r < 0)
        return r;
    r = doc_int(document, doc_get(root, "announceForMs"), 0, INT64_MAX / 2, &kept->announce_for_ms,
                faults);
    if (r < 0)
        return r;
    (void)snprintf(kept->reason, sizeof(kept->reason), "%s", reason);
    return r;
}

static void take(struct standing_keeper *keeper, const struct kept *kept)
{
    struct standing_status *status = &keeper->options.status->standing;
    status->node_seen = kept->node_seen;
    memcpy(status->reason, kept->reason, sizeof(status->reason));
    keeper->announce_for_ms = kept->announce_for_ms;
}

/* Reports why the file is ignored, and the consequence: a drain is not known. */
static void tell_unread(const char *path, const struct faults *why, struct faults *faults)
{
    vec_each(const struct fault, fault, &why->list)
        fault_raise(faults, fault->place, node_state_unread, .reason = fault->message,
                    .path = path);
    faults->incomplete |= why->incomplete;
}

/* Without a file, this is a fresh installation. */
static int load(struct standing_keeper *keeper, struct faults *faults)
{
    AUTOFREE char *path = state_path(keeper);
    if (!path)
        return -ENOMEM;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;

    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults why = { 0 };
    struct kept kept = { .phase = PHASE_SERVING, .announce_for_ms = -1 };
    int r = document_read(path, READER_JSON, &document, &why);
    if (r == -ENOMEM)
        return r;
    bool good = r > 0 && read_kept(document, &kept, &why) >= 0;
    tell_unread(path, &why, faults);
    if (good) {
        keeper->options.status->standing.phase = kept.phase;
        take(keeper, &kept);
    }
    return 0;
}

static void tell(struct standing_keeper *keeper)
{
    keeper->options.changed(standing_now(keeper), keeper->options.context);
}

/* Begins a phase that was saved; phases that end by themselves get their timer. */
static void enter(struct standing_keeper *keeper, enum standing_phase phase)
{
    struct standing_status *status = &keeper->options.status->standing;
    int64_t announce_ms = keeper->announce_for_ms >= 0 ? keeper->announce_for_ms
                                                       : keeper->config->routes.drain_shutdown_ms;
    int64_t lasts_ms = phase == PHASE_DRAINING      ? announce_ms
                       : phase == PHASE_WITHDRAWING ? keeper->config->routes.drain_withdraw_ms
                                                    : -1;
    status->phase = phase;
    status->since_wall_ms = clock_wall_ms();
    status->ends_mono_ms = lasts_ms < 0 ? 0 : clock_mono_ms() + lasts_ms;
    if (lasts_ms < 0)
        timer_disarm(keeper->phase_timer);
    else
        timer_arm(keeper->phase_timer, lasts_ms);
    log_event(&event_standing, LOG_FIELDS({ "PHASE", standing_phase_name(phase) }),
              "this node's service addresses: %s", standing_phase_name(phase));
    tell(keeper);
}

static void set_reason(struct kept *kept, const char *reason)
{
    (void)snprintf(kept->reason, sizeof(kept->reason), "%s", reason);
}

static int change(struct standing_keeper *keeper, const struct kept *kept)
{
    int r = save(keeper, kept);
    if (r < 0)
        return r;
    take(keeper, kept);
    enter(keeper, kept->phase);
    /* The operator has set the state of this node, whatever could not be read at the start. */
    (void)fault_book_replace(keeper->options.status->faults, "routes", "standing", NULL,
                             clock_wall_ms());
    return 0;
}

/* A drain is under way or done: the operator's arguments are added. */
static int add_words(struct standing_keeper *keeper, const struct standing_words *words)
{
    struct kept kept = kept_now(keeper);
    if (words->announce_for_ms >= 0 && kept.phase != PHASE_DRAINING)
        return -EALREADY;
    if (words->reason)
        set_reason(&kept, words->reason);
    if (words->announce_for_ms >= 0) {
        kept.announce_for_ms = words->announce_for_ms;
        return change(keeper, &kept);
    }
    int r = words->reason ? save(keeper, &kept) : 0;
    if (r < 0)
        return r;
    take(keeper, &kept);
    return 0;
}

int standing_drain(struct standing_keeper *keeper, const struct standing_words *words)
{
    struct kept kept = kept_now(keeper);
    if (kept.phase != PHASE_SERVING)
        return add_words(keeper, words);
    kept.phase = PHASE_DRAINING;
    set_reason(&kept, words->reason ? words->reason : "");
    kept.announce_for_ms = words->announce_for_ms;
    return change(keeper, &kept);
}

int standing_withdraw(struct standing_keeper *keeper, const char *reason)
{
    struct kept kept = kept_now(keeper);
    kept.phase = PHASE_DRAINED;
    if (reason)
        set_reason(&kept, reason);
    return change(keeper, &kept);
}

int standing_undrain(struct standing_keeper *keeper)
{
    struct kept kept = kept_now(keeper);
    kept.phase = PHASE_SERVING;
    set_reason(&kept, "");
    kept.announce_for_ms = -1;
    return change(keeper, &kept);
}

/*
 * A phase that can't be written must not stop the drain: after a restart the old phase begins anew.
 */
static void on_phase_end(void *context)
{
    struct standing_keeper *keeper = context;
    struct standing_status *status = &keeper->options.status->standing;
    enum standing_phase next = status->phase == PHASE_DRAINING ? PHASE_WITHDRAWING : PHASE_DRAINED;
    struct kept kept = kept_now(keeper);
    kept.phase = next;
    int r = save(keeper, &kept);
    if (r < 0)
        log_warning("cannot keep the drain's state: %s", strerror(-r));
    enter(keeper, next);
}

static void report_node(struct standing_keeper *keeper)
{
    struct status *status = keeper->options.status;
    AUTOFAULTS struct faults faults = { 0 };
    if (status->standing.node_gone)
        fault_raise(&faults, "Node", node_deleted, .node = keeper->config->node);
    else if (keeper->waiting_for_node)
        fault_raise(&faults, "Node", node_deleted_lately, .node = keeper->config->node);
    else if (keeper->unknown)
        fault_raise(&faults, "Node", node_unknown, .node = keeper->config->node);
    (void)fault_book_replace(status->faults, "routes", "node", &faults, clock_wall_ms());
}

static void on_node_gone(void *context)
{
    struct standing_keeper *keeper = context;
    keeper->waiting_for_node = false;
    keeper->options.status->standing.node_gone = true;
    report_node(keeper);
    tell(keeper);
}

/* Writes the file again if it was deleted. */
static void keep_file(const struct standing_keeper *keeper)
{
    const struct kept kept = kept_now(keeper);
    AUTOFREE char *path = state_path(keeper);
    if (path && access(path, F_OK) < 0 && errno == ENOENT &&
        (kept.node_seen || kept.phase != PHASE_SERVING))
        (void)save(keeper, &kept);
}

void standing_observe_node(struct standing_keeper *keeper, bool present, bool others)
{
    struct standing_status *status = &keeper->options.status->standing;
    if (present && !status->node_seen) {
        status->node_seen = true;
        const struct kept kept = kept_now(keeper);
        (void)save(keeper, &kept);
    }
    keep_file(keeper);
    bool unknown = !present && !status->node_seen && others;
    if (unknown != keeper->unknown) {
        keeper->unknown = unknown;
        report_node(keeper);
    }
    if (!present && status->node_seen && !status->node_gone && !keeper->waiting_for_node) {
        keeper->waiting_for_node = true;
        timer_arm(keeper->node_timer, keeper->config->routes.node_gone_ms);
        report_node(keeper);
    }
    if (present && (status->node_gone || keeper->waiting_for_node)) {
        bool was_gone = status->node_gone;
        keeper->waiting_for_node = false;
        status->node_gone = false;
        timer_disarm(keeper->node_timer);
        report_node(keeper);
        if (was_gone)
            tell(keeper);
    }
}

void standing_set_config(struct standing_keeper *keeper, const struct config *config)
{
    struct standing_status *status = &keeper->options.status->standing;
    const bool renamed = strcmp(keeper->config->node, config->node) != 0;
    keeper->config = config;
    if (!renamed || status->node_gone)
        return;
    status->node_seen = keeper->waiting_for_node = false; /* the known one was another Node */
    timer_disarm(keeper->node_timer);
    report_node(keeper);
}

int standing_new(const struct standing_options *options, struct standing_keeper **ret_keeper)
{
    CLEANUP(standing_freep) struct standing_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return -ENOMEM;
    keeper->options = *options;
    keeper->config = options->config;
    keeper->announce_for_ms = -1;
    int r = timer_new(options->event, SD_EVENT_PRIORITY_NORMAL, on_phase_end, keeper,
                      &keeper->phase_timer);
    if (r < 0)
        return r;
    r = timer_new(options->event, SD_EVENT_PRIORITY_NORMAL, on_node_gone, keeper,
                  &keeper->node_timer);
    if (r < 0)
        return r;
    AUTOFAULTS struct faults faults = { 0 };
    r = load(keeper, &faults);
    if (r < 0)
        return r;
    (void)fault_book_replace(options->status->faults, "routes", "standing", &faults,
                             clock_wall_ms());
    if (options->status->standing.phase != PHASE_SERVING)
        enter(keeper, options->status->standing.phase);
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

void standing_free(struct standing_keeper *keeper)
{
    if (!keeper)
        return;
    timer_free(keeper->phase_timer);
    timer_free(keeper->node_timer);
    free(keeper);
}
