# SPDX-License-Identifier: BSD-2-Clause
"""Exit codes and messages: bad usage, bad files, full disks. Nothing ever crashes."""

import os
import pty
import random
import select
import struct
import subprocess

import generate
import pytest
import reference
from conftest import GENERATED

CASES = GENERATED["cases.pcap"]


def one_line(text):
    return text.startswith("fp-flows: ") and text.count("\n") == 1


# ---- captures that end early ----


@pytest.mark.parametrize("name", ["cases.pcap", "nano-be.pcap", "ethernet.pcapng"])
@pytest.mark.parametrize("keep", [0.999, 0.5, "header", "record"])
def test_a_cut_capture_gives_what_could_be_read(flows, tmp_path, name, keep):
    content = GENERATED[name]
    if keep == "header":  # inside the header of the first or second record
        first = 24 + 16 + len(reference.Capture(content).packets[0].data)
        content = content[: 28 + 20 + 20 + 24 + 7 if name.endswith("pcapng") else first + 7]
    elif keep == "record":
        content = content[:-1]
    else:
        content = content[: int(len(content) * keep)]
    path = tmp_path / "cut"
    path.write_bytes(content)
    expected = reference.Capture(content)
    assert expected.cut
    run = flows("--echo", tmp_path / "echo.pcap", path)
    assert run.code == 1
    assert one_line(run.err) and str(path) in run.err
    assert f"{len(expected.packets)} packets" in run.err
    assert run.count("packets") == len(expected.packets)
    rows = reference.read_csv((tmp_path / "flows.csv").read_text())
    assert rows == reference.Table(expected).rows
    echo = reference.Capture(tmp_path / "echo.pcap")
    assert [p.data for p in echo.packets] == [p.data for p in expected.packets]

    run = flows("-", stdin=content)
    assert run.code == 1
    assert reference.read_csv((tmp_path / "flows.csv").read_text()) == rows


@pytest.mark.parametrize("echo", [False, True], ids=["table", "echo"])
def test_a_frame_longer_than_any_tool_writes_ends_the_reading(flows, tmp_path, echo):
    """libpcap reads such a frame only from pcapng, and only where the file allows it."""
    recs = [(10**18, n, bytes(n)) for n in (60, 262145, 60)]
    snapshot = struct.pack("<HHI", reference.LINK_ETHERNET, 0, 262144)
    larger = struct.pack("<HHI", reference.LINK_ETHERNET, 0, 1 << 30)
    content = generate.pcapng(reference.LINK_ETHERNET, recs)
    assert content.count(snapshot) == 2
    path = tmp_path / "long.pcapng"
    path.write_bytes(content.replace(snapshot, larger))
    run = flows(*(["--echo", tmp_path / "echo"] if echo else []), path)
    assert run.code == 1
    assert one_line(run.err)
    assert "262145, bigger than maximum of 262144 (after 1 packets" in run.err
    assert run.count("packets") == 1


def test_a_second_link_type_ends_the_reading(flows, tmp_path):
    """libpcap gives up there; what came before is kept."""
    recs = [(10**18, 60, bytes(60))]
    path = tmp_path / "two.pcapng"
    path.write_bytes(generate.pcapng(reference.LINK_ETHERNET, recs)
                     + generate.pcapng(reference.LINK_LOOP, recs))  # fmt: skip
    run = flows(path)
    assert run.code == 1
    assert run.count("packets") == 1


# ---- captures that cannot be read at all ----


def unreadable(tmp_path):
    recs = [(10**18, 60, bytes(60))]
    return {
        "empty": b"",
        "short header": CASES[:20],
        "bad magic": b"\x00" * 4 + CASES[4:],
        "text": b"not a capture at all, but long enough to have a header\n",
        "version": CASES[:4] + b"\x63\x00" + CASES[6:],
        "link type": generate.pcap(105, recs),
        "unknown link type": generate.pcap(65000, recs),
        "pcapng link type": generate.pcapng(105, recs),
    }


@pytest.mark.parametrize("name", sorted(unreadable(None)))
def test_an_unreadable_capture_leaves_no_output(flows, tmp_path, name):
    path = tmp_path / "input"
    path.write_bytes(unreadable(tmp_path)[name])
    for source, stdin in ((path, None), ("-", path.read_bytes())):
        run = flows("--echo", tmp_path / "echo.pcap", source, stdin=stdin)
        assert (run.code, run.out) == (2, "")
        assert one_line(run.err)
        if "link type" in name:
            assert "link type" in run.err and "not supported" in run.err
        assert not (tmp_path / "flows.csv").exists()
        assert not (tmp_path / "echo.pcap").exists()


def test_no_such_file_and_directory(flows, tmp_path):
    run = flows(tmp_path / "nothing")
    assert run.code == 2 and "No such file" in run.err
    run = flows(tmp_path)
    assert run.code == 2 and "directory" in run.err


# ---- outputs ----


def test_a_full_disk(flows, generated, tmp_path):
    with open("/dev/full", "w") as full:
        runs = {
            "table": flows("-o", "/dev/full", generated / "cases.pcap"),
            "echo": flows("--echo", "/dev/full", generated / "cases.pcap"),
            "small echo": flows("--echo", "/dev/full", generated / "one.pcap"),
            "summary": flows(generated / "cases.pcap", stdout=full),
        }
    for name, run in runs.items():
        assert run.code == 2, name
        assert "No space left" in run.err, name
        assert one_line(run.err), name


def test_an_output_that_cannot_be_made(flows, generated, tmp_path):
    for args in (["-o", tmp_path / "no/table"], ["--echo", tmp_path / "no/echo"]):
        run = flows(*args, generated / "cases.pcap")
        assert run.code == 2 and one_line(run.err) and "No such file" in run.err


def test_an_output_that_is_the_input(flows, tmp_path):
    path = tmp_path / "input.pcap"
    path.write_bytes(CASES)
    os.link(path, tmp_path / "link")
    for args in (["-o", path], ["--echo", path], ["--echo", tmp_path / "link"]):
        run = flows(*args, path)
        assert run.code == 2 and "input" in run.err
        assert path.read_bytes() == CASES
    run = flows("-o", tmp_path / "same", "--echo", tmp_path / "same", path)
    assert run.code == 2 and "same" in run.err
    run = flows("-o", "-", "--echo", "-", path)
    assert (run.code, run.out) == (2, "") and "standard output" in run.err


# ---- usage ----


@pytest.mark.parametrize(
    "args",
    [
        [], ["a", "b"], ["-w", "0", "a"], ["-w", "65", "a"], ["-w", "x", "a"], ["-w", "", "a"],
        ["-w", "-1", "a"], ["-w", "99999999999999999999", "a"], ["--ring", "0", "a"],
        ["--ring", "65537", "a"], ["--idle-timeout", "-1", "a"], ["--idle-timeout", "", "a"],
        ["--idle-timeout", ".5", "a"], ["--idle-timeout", "1e3", "a"],
        ["--idle-timeout", "1000000001", "a"], ["--idle-timeout", "0.1234567890", "a"],
        ["--top", "-1", "a"], ["--nonsense", "a"], ["-w"],
    ],
)  # fmt: skip
def test_bad_usage(flows, tmp_path, args):
    run = flows(*args)
    assert (run.code, run.out) == (2, "")
    assert "--help" in run.err
    assert not (tmp_path / "flows.csv").exists()


def test_help_and_version(flows):
    run = flows("--help")
    assert run.code == 0 and run.out.startswith("usage: fp-flows")
    run = flows("--version")
    assert run.code == 0 and run.out.startswith("fp-flows ")


# ---- the terminal ----


def test_no_progress_line_without_a_terminal(flows, generated):
    assert flows(generated / "cases.pcap").err == ""


def test_progress_line_on_a_terminal(tmp_path):
    """Feeds packets until the line shows, which it does in the second second."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [os.environ["FP_FLOWS"], "-o", tmp_path / "flows.csv", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    process.stdin.write(CASES)
    while not select.select([ours], [], [], 0.05)[0]:
        process.stdin.write(CASES[24:])
        process.stdin.flush()
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "M packets" in shown and "MB" in shown
    assert shown.endswith("\r\x1b[K"), "the line is wiped at the end"


# ---- damage ----


def mutate(r, content):
    """A few random bytes, lengths and cuts."""
    data = bytearray(content)
    for _ in range(r.randrange(1, 30)):
        at = r.randrange(len(data))
        dice = r.random()
        if dice < 0.7:
            data[at] = r.randrange(256)
        elif dice < 0.8:
            data[at : at + 4] = r.choice((b"\xff" * 4, bytes(4), b"\x00\x00\x00\x80"))
        elif dice < 0.9:
            del data[at : at + r.randrange(1, 9)]
        else:
            data[at:at] = r.randbytes(r.randrange(1, 9))
    return bytes(data)


def test_the_parser_never_reads_past_the_captured_bytes(generated):
    captures = [generated / n for n in GENERATED if n.endswith(".pcap") and n != "none.pcap"]
    done = subprocess.run(
        [os.environ["FP_FLOWS_BOUNDS"], *captures],
        stdout=subprocess.PIPE, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert int(done.stdout.split()[0]) > 100000


def fuzz_seeds():
    first = int(os.environ.get("LIBFP_TEST_SEED", "0"), 0) or random.randrange(2**32)
    rounds = 2000 if os.environ.get("LIBFP_TEST_SCALE") == "proof" else 100
    return first, rounds


def test_damaged_captures_never_crash(flows, tmp_path):
    first, rounds = fuzz_seeds()
    print(f"seed: LIBFP_TEST_SEED={first}")
    names = sorted(n for n in GENERATED if n not in ("cases.pcap", "none.pcap"))
    for i in range(rounds):
        r = random.Random(first + i)
        content = mutate(r, GENERATED[r.choice(names)])
        path = tmp_path / "damaged"
        path.write_bytes(content)
        run = flows("-w", 2, "--echo", tmp_path / "echo", path)
        assert run.code in (0, 1, 2), f"LIBFP_TEST_SEED={first + i}: {run.err}"
        assert one_line(run.err) if run.code else run.err == "", f"LIBFP_TEST_SEED={first + i}"
        if run.code == 0:
            kinds = sum(run.count(r) for r in reference.REASONS) + run.count("other")
            rows = reference.read_csv((tmp_path / "flows.csv").read_text())
            total = kinds + sum(row[7] + row[9] for row in rows)
            assert total == run.count("packets"), f"LIBFP_TEST_SEED={first + i}"
