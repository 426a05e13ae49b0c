/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets of both readers share: files made of bytes, and what a reader made of them. */
#pragma once

#include "base/text.h"
#include "format/reader.h"
#include "fuzz.h"

/* An open file with these bytes. */
int fuzz_file(const uint8_t *bytes, size_t size);

/* JSON if that is what the bytes begin like, else YAML. */
enum reader_format fuzz_format(const uint8_t *bytes, size_t size);

/* The document as JSON text with every scalar as a string. */
void fuzz_write(const struct doc *node, struct text *out);

/* Everything that must hold when the bytes are read in this format. */
void fuzz_read(const uint8_t *bytes, size_t size, enum reader_format format);
