/* SPDX-License-Identifier: Apache-2.0 */
/* The result of one operation on routes or rules. */
#pragma once

struct op_result {
    int error;     /* 0 or -errno */
    char text[96]; /* the kernel's error text, or "" */
};
