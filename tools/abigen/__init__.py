# SPDX-License-Identifier: BSD-2-Clause
"""Reads the public headers of libfp and writes everything derived from them.

One direction, four steps, one module each:

    headers.py   preprocess and parse capi/libfp.h into a Model
    comments.py  the comment of each function: returns, threads, progress, since
    lint.py      the rules of the ABI; a header that breaks one is refused
    emit_*.py    version script, JSON, C-like lists, Go constants

The headers are written in a restricted style (fixed-width types, opaque
handles, no inline code), so a C parser and a page of layout rules suffice.
"""
