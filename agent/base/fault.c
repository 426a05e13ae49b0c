// SPDX-License-Identifier: Apache-2.0
/* Lists of faults; see fault.h. */
#include "base/fault.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void fault_done(struct fault *fault)
{
    free(fault->key);
    free(fault->place);
    free(fault->message);
    free(fault->remedy);
}

void faults_add(struct faults *faults, const char *place, const char *remedy, const char *format,
                ...)
{
    struct text message = { 0 };
    va_list args;
    va_start(args, format);
    text_vaddf(&message, format, args);
    va_end(args);

    struct fault fault = {
        .place = strdup(place),
        .message = text_take(&message),
        .remedy = remedy ? strdup(remedy) : NULL,
    };
    faults_push(faults, fault, fault.place && fault.message && (!remedy || fault.remedy));
}

void faults_push(struct faults *faults, struct fault fault, bool whole)
{
    if (!whole || vec_push(&faults->list, fault) < 0) {
        fault_done(&fault);
        faults->incomplete = true;
    }
}

void faults_add_copy(struct faults *faults, const char *place, const struct fault *fault)
{
    struct fault copy = {
        .type = fault->type,
        .key = fault->key ? strdup(fault->key) : NULL,
        .place = strdup(place),
        .message = strdup(fault->message),
        .remedy = fault->remedy ? strdup(fault->remedy) : NULL,
    };
    faults_push(faults, copy,
                copy.place && copy.message && !copy.key == !fault->key &&
                    !copy.remedy == !fault->remedy);
}

void faults_take(struct faults *faults, struct faults *from)
{
    faults->incomplete |= from->incomplete;
    if (from->list.count > 0 && vec_reserve(&faults->list, from->list.count) < 0) {
        faults->incomplete = true;
        faults_done(from);
        return;
    }
    vec_each(const struct fault, fault, &from->list)
        faults->list.items[faults->list.count++] = *fault;
    vec_done(&from->list);
    from->incomplete = false;
}

bool fault_is_same(const struct fault *a, const struct fault *b)
{
    if (a->type != b->type || strcmp(a->place, b->place) != 0)
        return false;
    return a->type ? strcmp(a->key, b->key) == 0 : strcmp(a->message, b->message) == 0;
}

bool faults_none(const struct faults *faults)
{
    return faults->list.count == 0 && !faults->incomplete;
}

void faults_done(struct faults *faults)
{
    vec_each(struct fault, fault, &faults->list)
        fault_done(fault);
    vec_done(&faults->list);
    faults->incomplete = false;
}
