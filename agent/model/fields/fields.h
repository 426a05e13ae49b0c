/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of objects that nobody reads because their names are misspelt. Private to model/. */
#pragma once

#include "model/fields/decode.h"
#include "model/kind.h"

/*
 * Warns of members of a kind's document that look like a field which would count: misspelt, or in
 * the wrong place. Others are silent: kinds get new fields, and have many that are not for us. Of
 * what the API says, only custom resources are looked at.
 */
void fields_check(struct decoder *decoder, const struct kind_row *row);
