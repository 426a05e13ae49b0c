/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command line. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "agentctl/ctl.h"
#include "agentctl/verbs/verbs.h"

struct option_row {
    int id; /* below 256: also its letter */
    const char *name, *argument;
    unsigned verbs; /* enum verb_option: whose it is */
    const char *help;
    enum completes completes; /* its value */
    const char *const *words; /* COMPLETES_WORD: ends with NULL */
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;

/*
 * Fills in `ctl` and moves the words that are no options to the end of `argv`; `*ret_first` is
 * the index of the first of them. `*ret_given` tells which verbs' own options were used
 * (enum verb_option). Returns 0, or EXIT_USAGE after saying what is wrong.
 */
int options_parse(int argc, char **argv, struct ctl *ctl, int *ret_first, unsigned *ret_given);

/* The first option of these bits, as one writes it: "--wait". */
const char *option_name(unsigned options);

/* Decides ctl->color and ctl->mid from options, environment and terminal. */
void options_settle(struct ctl *ctl);

/* What most verbs have, for the summary. */
enum { OPTIONS_USUAL = OPTION_COLUMNS | OPTION_WATCH | OPTION_NAMES };

/* Prints the options of these bits, those of few verbs first, and the common ones. */
void options_help(FILE *stream, unsigned options);
