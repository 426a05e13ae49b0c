# SPDX-License-Identifier: Apache-2.0
"""Benchmarks and the soak; tools/bench is the way to call them, __main__.py the place to begin."""
