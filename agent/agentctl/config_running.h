/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that an agent runs with, against those of a file. */
#pragma once

#include "base/text.h"
#include "format/doc.h"
#include "format/json.h"

/* `running` is the answer to GET /v1/config, `file` a SettingList or NULL: the file is no good. */
struct config_running {
    const struct doc *running, *file;
};

/* How many settings differ. */
size_t config_running_count(const struct config_running *both);
/* The member "running" of ConfigCheck. */
void config_running_write(struct json *json, const struct config_running *both);
/* The same in lines, with what to do. */
void config_running_add(struct text *out, const struct config_running *both);
