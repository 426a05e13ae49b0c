/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detector engine: runs the rows of detect/ and puts their faults into the book of faults. It
 * writes nothing to the kernel.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops detector_engine_ops;
