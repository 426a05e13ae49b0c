/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watched folder: which names are in it, and which of them may have changed.
 *
 * The folder reports only that something may have changed, never what: the handler opens the file
 * and checks. Names that begin with a dot are never reported.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/vec.h"

struct folder;

/* Sorted by byte order. The names belong to the list. */
typedef VEC(char *) name_list;
void name_list_done(name_list *names);
#define AUTONAMES CLEANUP(name_list_done)

struct folder_handler {
    /*
     * One name was added, removed or written. `attributes`: only its mode or its times have
     * changed. The name is borrowed for the call.
     */
    void (*touched)(void *context, const char *name, bool attributes);
    /* The folder exists, these are all its names, and any of them may have changed. */
    void (*listed)(void *context, const name_list *names);
    /* The folder can't be read (-errno); it is retried with growing delays. */
    void (*lost)(void *context, int error);
    void *context;
};

/* True for *.yaml, *.yml and *.json. */
bool folder_is_manifest(const char *name);

/* All names but those that begin with a dot. Returns 0 or -errno. */
int folder_names(const char *path, name_list *ret_names);

/*
 * Prepares to watch; the handler is not called before folder_rescan(). Events are handled before
 * those of sources with normal priority. Returns 0 or -errno.
 */
int folder_new(sd_event *event, const char *path, const struct folder_handler *handler,
               struct folder **ret_folder);
void folder_free(struct folder *folder);
DEFINE_CLEANUP(struct folder *, folder_free);

/* Finds and watches the folder at the path; ends in listed() or lost(). */
void folder_rescan(struct folder *folder);

/* The same after a delay, which grows until the folder was listed. */
void folder_rescan_later(struct folder *folder);

/* True if there is a folder at the path now. */
bool folder_exists(const struct folder *folder);
