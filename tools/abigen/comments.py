# SPDX-License-Identifier: BSD-2-Clause
"""Comments of a header, and what the comment of a public function says.

The form (CONTRIBUTING.md): free text, then one entry per parameter that needs
words, then four entries that are never missing:

    name:     text, continued on indented lines
    Returns:  each success value and each error code
    Threads:  who may call it
    Progress: wait-free, lock-free or blocking
    Since:    0.9
"""

import re
from dataclasses import dataclass, field

REQUIRED = ("Returns", "Threads", "Progress", "Since")


@dataclass(frozen=True)
class Comment:
    first: int  # line of /*
    last: int  # line of */
    text: str  # without its frame
    span: tuple  # offsets in the source


@dataclass
class Doc:
    text: str = ""
    entries: dict = field(default_factory=dict)  # "Returns" -> one line of text

    @property
    def since(self):
        return self.entries.get("Since", "")


def scan(source):
    """Every comment of a C source, with its lines."""
    token = re.compile(
        r"""(?P<block>/\*.*?\*/) | (?P<line>//[^\n]*)
          | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
        re.S | re.X)
    found = []
    for match in token.finditer(source):
        if not (match["block"] or match["line"]):
            continue
        first = source.count("\n", 0, match.start()) + 1
        last = first + match.group().count("\n")
        found.append(Comment(first, last, strip(match.group()), match.span()))
    return found


def strip(comment):
    """The words of a comment, without its frame."""
    if comment.startswith("//"):
        return comment[2:].strip()
    lines = comment[2:-2].splitlines()
    return "\n".join(re.sub(r"^\s*\* ?|\s*$", "", line)
                     for line in lines).strip()


def before(comments, line, source_lines):
    """The comment that stands directly before the declaration at `line`."""
    best = None
    for comment in comments:
        if comment.last < line:
            best = comment
    if best is None:
        return None
    # Between them only the start of the declaration itself.
    between = source_lines[best.last:line - 1]
    if any(not text.strip() or re.search(r"[;{}#]", text) for text in between):
        return None
    return best


ENTRY = re.compile(r"([A-Za-z_]\w*(?:, [a-z_]\w*)*):(?:\s+|$)(.*)")


def parse(text, params):
    """Splits a function's comment. Returns (Doc, problems)."""
    doc, problems, free = Doc(), [], []
    current = None  # the entry that indented lines continue
    for line in text.splitlines():
        match = ENTRY.match(line)
        names = match[1].split(", ") if match else []
        known = match and (match[1] in REQUIRED or set(names) & set(params))
        if known or (match and current):
            current = match[1]
            if current in doc.entries:
                problems.append(f"`{current}:` appears twice")
            problems += [f"`{name}:` names no parameter" for name in names
                         if name not in params and name not in REQUIRED]
            doc.entries[current] = match[2]
        elif current and line.startswith(" "):
            doc.entries[current] += " " + line.strip()
        else:
            if current and line.strip():
                problems.append(f"text after `{current}:` is not indented: "
                                f"{line.strip()!r}")
            free.append(line)
    doc.text = "\n".join(free).strip()
    doc.entries = {k: v.strip() for k, v in doc.entries.items()}
    problems += [f"`{name}:` is missing" for name in REQUIRED
                 if not doc.entries.get(name)]
    if not doc.text:
        problems.append("does not say what the function does")
    return doc, problems


def own_codes(doc):
    """Error codes that the Returns entry spells out, in its order."""
    codes = []
    for code in re.findall(r"-(E[A-Z0-9]+)\b", doc.entries.get("Returns", "")):
        if code not in codes:
            codes.append(code)
    return codes


def codes_like(doc):
    """`Returns:  as fp_x(); ...`: the function whose codes are meant too."""
    match = re.match(r"as (fp_\w+)\(\)", doc.entries.get("Returns", ""))
    return match[1] if match else None
