# SPDX-License-Identifier: Apache-2.0
# The releases that files of birdconf/ name, as macros of C.
s/^define \(FINGERPOST_RELEASE_[A-Z_]*\) = \("[0-9.]*"\);.*/#define \1 \2/p
