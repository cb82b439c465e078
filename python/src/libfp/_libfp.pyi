# SPDX-License-Identifier: BSD-2-Clause
# The extension that cffi makes: raw functions and constants. Private.

from typing import Any

ffi: Any
lib: Any
