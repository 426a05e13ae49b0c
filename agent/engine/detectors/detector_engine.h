/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of detectors: runs the rows of detect/ and puts what they find into the book of
 * faults. It writes nothing into the kernel.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops detector_engine_ops;
