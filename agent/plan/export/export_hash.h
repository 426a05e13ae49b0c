/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash that kube-service-exporter puts into each document, bit for bit: FNV-1 of 64 bits over
 * the fields of a Go struct, in the order of mitchellh/hashstructure (format 1). Readers compare it
 * to detect a changed document. Internal to plan/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/doc.h"

uint64_t export_hash_text(const char *text);
uint64_t export_hash_bool(bool value);
uint64_t export_hash_int32(int32_t value);
uint64_t export_hash_int64(int64_t value);

/* A parsed JSON value; NULL: an empty object. */
uint64_t export_hash_json(const struct doc *value);

/* A struct of this name without fields; then adds one field. */
uint64_t export_hash_struct(const char *name);
uint64_t export_hash_field(uint64_t hash, const char *field, uint64_t value);
