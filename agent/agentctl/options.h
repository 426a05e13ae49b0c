/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command line. */
#pragma once

#include <stdio.h>

#include "agentctl/ctl.h"

/*
 * Fills in `ctl` and moves the words that are no options to the end of `argv`; `*ret_first` is
 * the index of the first of them. `*ret_given` tells which verbs' own options were used
 * (enum verb_option). Returns 0, or EXIT_USAGE after saying what is wrong.
 */
int options_parse(int argc, char **argv, struct ctl *ctl, int *ret_first, unsigned *ret_given);

/* The option of this bit without its dashes: "wait". */
const char *option_name(unsigned option);

/* Decides ctl->color and ctl->mid from options, environment and terminal. */
void options_settle(struct ctl *ctl);

void options_help(FILE *stream);
