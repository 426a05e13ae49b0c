/* SPDX-License-Identifier: Apache-2.0 */
/* `agentctl __complete WORD...`, which the shells' completion calls. */
#pragma once

/*
 * The words are those after "agentctl"; the last one is being typed. Prints a line for each word
 * that could stand there, with a tab and what it means behind it where that is known; or one line
 * ":files" or ":folders" if the shell knows better. Returns an exit status.
 */
int complete(int count, char **words);
