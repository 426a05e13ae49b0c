# SPDX-License-Identifier: Apache-2.0
# A file as a string of C, a line for each line.
s/[\\"]/\\&/g
s/.*/"&\\n"/
