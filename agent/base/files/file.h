/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files, and what writing longer ones is made of. */
#pragma once

#include <stddef.h>

/*
 * Reads a whole file into NUL-terminated memory that the caller frees.
 * Returns 0, -EFBIG above `limit` bytes, -ENOMEM, or what open() and read() say.
 */
int file_read(const char *path, size_t limit, char **ret_content, size_t *ret_size);

/*
 * Writes a whole file so that a reader, or a crash, finds the old content or the new: a temporary
 * file beside it (mode 0644) is synced and renamed over it. Returns 0 or -errno.
 */
int file_write_atomic(const char *path, const char *content, size_t size);

/* Writes all of the bytes. Returns 0 or -errno. */
int file_write(int fd, const char *bytes, size_t count);

/* Puts a file in the place of another, for good: its content must have been synced. Returns 0 or
 * -errno. */
int file_replace(const char *temporary, const char *path);

/* Makes a directory and its parents (mode 0755). Returns 0 if it is there afterwards, or -errno. */
int dir_make(const char *path);
