/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CNI plugin says when it fails: a code, what is wrong and where, and what to do about it.
 *
 * Functions of this room that take a `struct cni_error` return a negative number when they fail,
 * and have filled it in then. It has room of its own: to fail takes no memory.
 */
#pragma once

#include "base/macro.h"
#include "base/text.h"

/* Those below 100 are the CNI specification's. */
enum cni_code {
    CNI_VERSION_NOT_SPOKEN = 1,
    CNI_UNSUPPORTED_FIELD = 2,
    CNI_UNKNOWN_CONTAINER = 3,
    CNI_BAD_ENVIRONMENT = 4,
    CNI_IO_FAILURE = 5,
    CNI_NOT_DECODED = 6,
    CNI_BAD_CONFIGURATION = 7,
    CNI_TRY_AGAIN = 11,
    CNI_NOT_AVAILABLE = 50, /* no further pods; those that there are keep their network */
    CNI_REFUSED = 100,      /* agentd does not want it */
    CNI_KERNEL_REFUSED = 101,
    CNI_DIFFERS = 102, /* CHECK: something is not as it was made */
    CNI_INTERNAL = 999,
};

struct cni_error {
    enum cni_code code;
    char message[512]; /* "place: what is wrong" */
    char remedy[512];
};

/* Fills in an error and returns -ECANCELED. The remedy is borrowed for the call only. */
int cni_fail(struct cni_error *error, enum cni_code code, const char *remedy, const char *format,
             ...) PRINTF_LIKE(4, 5);

/* The specification's document of an error, in a version that the caller spoke. */
void cni_error_write(struct text *out, const char *version, const struct cni_error *error);
