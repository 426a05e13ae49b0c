/* SPDX-License-Identifier: Apache-2.0 */
/* The release that changed a file of birdconf/ last, as the file itself names it in a define. */
#pragma once

/*
 * The release that a text of such a file names: borrowed, and its length in ret_length. NULL: it
 * names none.
 */
const char *bird_release_of(const char *text, int *ret_length);
