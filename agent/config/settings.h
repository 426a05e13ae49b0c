/* SPDX-License-Identifier: Apache-2.0 */
/* Every setting that is in force with a configuration file, and where it comes from. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/vec.h"
#include "config/config.h"

struct setting {
    char *key;     /* "routes.holdDown.initial" */
    char *value;   /* JSON, in the words of the file: "1s", 119, ["veth*"]; null: not set */
    uint32_t line; /* of the file; 0: the default */
};

/* In the order of the documentation. */
struct settings {
    VEC(struct setting) list;
};

/* Loads a file. Returns as config_load(), with the same faults. */
int settings_load(const char *path, struct settings *ret_settings, struct faults *errors);
/* Those of a configuration that is loaded; `line` is 0 of all. Returns 0 or -ENOMEM. */
int settings_of(const struct config *config, struct settings *ret_settings);
void settings_done(struct settings *settings);
