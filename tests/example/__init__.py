# SPDX-License-Identifier: Apache-2.0
"""An engine of some hundred lines, as an example and as a test: see docs/adding-an-engine.md."""
