#!/usr/bin/env python3
"""check_ranks.py WAYMARK CASE [KILLS]: the command under mpirun.

  model   the same of a network and of chains, whose work is shared in smaller pieces
  same    1, 2 and 3 ranks give the same answer, bit for bit, and say it once
  errors  what is wrong is said once; standard input is refused; other commands run once
  killed  a rank that is killed ends the job; another number of ranks resumes it to the same answer. With KILLS so many
          times, each rank in turn, ever later
  hangs   a rank that is stopped is found by --rank-limit, and named

Exits with 77, which CTest calls skipped, where there is no mpirun or no module for it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

WAYMARK = os.path.abspath(sys.argv[1])
TIMES = {"seconds", "threads", "ranks", "n_threads"}


def launch(ranks, *words, fault=None, of=1):
    """fault: which call of rank `of` that changes a file fails, and how (src/base/io.h): nothing depends on when this
    script looks."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMP_WAIT_POLICY="passive",
               OMPI_MCA_btl_vader_single_copy_mechanism="none")
    # linear algebra sums in another order with another number of threads: one of each rank
    job = [WAYMARK, *words, "--threads", "1"]
    if fault:
        job = ["mpirun", *sum(([":"] * (r > 0) + ["-n", "1"] + ["env", "WAYMARK_IO_FAULT=" + fault] * (r == of) + job
                               for r in range(ranks)), [])]
    elif ranks > 1:
        job = ["mpirun", "-n", str(ranks), *job]
    return subprocess.Popen(job, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL)


def run(ranks, *words):
    job = launch(ranks, *words)
    out, err = job.communicate(timeout=300)
    return job.returncode, out, err


def answer(ranks, *words):
    code, out, err = run(ranks, *words, "--json", "-q")
    assert code == 0, (code, out, err)
    return plain(json.loads(out))


def plain(value):
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in TIMES}
    return [plain(v) for v in value] if isinstance(value, list) else value


def processes_of(job):
    """The ranks that mpirun has started here, in order."""
    children = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == job.pid:
            children.append(int(entry))
    return sorted(children)


def same():
    for ranks, *words in ((3, "ratio", "p.npy", "q.npy", "--iterations", "100"),
                          (2, "ratio", "p.npy", "q.npy", "--model", "quadratic+mlp",
                           "--iterations", "30", "--ensemble", "2"),
                          (2, "mi", "pairs/u.npy", "pairs/v.npy", "--model", "quadratic")):
        one, many = answer(1, *words), answer(ranks, *words)
        different = [(k, str(one[k])[:80], str(many.get(k))[:80]) for k in one if one[k] != many.get(k)]
        assert not different, (words, different)


def write_images(path):
    """300 images of 8 x 8 bytes, each a bright spot, as NumPy would save them."""
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (300, 8, 8), }"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    pixels = bytes(max(0, 255 - 30 * ((x - i % 5 - 1) ** 2 + (y - i % 7) ** 2) - i % 11)
                   for i in range(300) for y in range(8) for x in range(8))
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + pixels)


def model():
    """Steps of a network are cut into pieces, rounds of chains into rows."""
    write_images("images.npy")
    words = ["ebm", "images.npy", "--image", "8x8", "--dequantize", "256", "--noise", "gaussian",
             "--model", "additive+mlp", "--width", "512", "--bridges", "2", "--batch", "120",
             "--heads-iterations", "5", "--iterations", "6", "--check-steps", "2",
             "--check-chains", "200"]
    for more in ([], ["--objective", "denoise"]):
        one, many = answer(1, *words, *more), answer(3, *words, *more)
        different = [(k, str(one[k])[:80], str(many.get(k))[:80]) for k in one if one[k] != many.get(k)]
        assert not different, (more, different)


def errors():
    code, out, err = run(3, "ratio", "missing.npy", "q.npy")
    assert code == 1 and out == "" and err.count("missing.npy: cannot read") == 1, (code, err)
    code, out, err = run(2, "ratio", "p.npy", "-")
    assert code == 2 and err.count("standard input") == 1, (code, err)
    code, out, err = run(2, "version")
    assert code == 0 and out.count("waymark") == 1, out
    code, out, err = run(2, "ratio", "p.npy", "q.npy", "--model", "quadratic", "-o", "kept", "-q")
    assert code == 0 and os.path.exists("kept/model.safetensors"), err
    code, out, err = run(2, "ratio", "p.npy", "q.npy", "-o", "kept")
    assert code == 1 and err.count("kept") == 1, err  # the folder is not replaced unasked


def killed(kills=1):
    words = ["ratio", "p.npy", "q.npy", "--model", "mlp", "--iterations", "100", "--bridges", "1"]
    clean = answer(1, *words)
    for i in range(int(kills)):  # twelve: rank 1 writes its second checkpoint
        rank, call = (i + 1) % 3, 12 + i // 3
        job = launch(3, *words, "-o", f"run{i}", "-q", fault=f"{call}:kill", of=rank)
        _, err = job.communicate(timeout=300)
        assert job.returncode != 0, (rank, call, err)
        assert f"rank {rank}" in err and "illed" in err, (rank, call, err)
        code, out, err = run(2, *words, "-o", f"run{i}", "--resume", "--json", "-q")
        assert code == 0, (rank, call, err)
        assert plain(json.loads(out)) == clean, (rank, call)


def hangs():
    job = launch(2, "ratio", "p.npy", "q.npy", "--model", "mlp", "--iterations", "100",
                 "--rank-limit", "12", "-o", "run", fault="12:stop")
    try:
        _, err = job.communicate(timeout=300)
    finally:
        job.terminate()
    assert job.returncode != 0 and "no word from rank 1 for 12 s" in err, err


def main():
    if not shutil.which("mpirun"):
        print("skipped: no mpirun (Debian: openmpi-bin)")
        return 77
    if not os.path.exists(os.path.join(os.path.dirname(WAYMARK), "waymark_mpi.so")):
        print("skipped: this build has no module for MPI (Debian: libopenmpi-dev)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for words in (["shift", "-n", "300", "--dim", "3", "--mean-p", "0", "--mean-q", "1", "-o", "shift"],
                      ["student", "-n", "300", "--mi", "1", "-o", "pairs"]):
            code, _, err = run(1, "data", *words)
            assert code == 0, err
        os.rename("shift/p.npy", "p.npy")
        os.rename("shift/q.npy", "q.npy")
        globals()[sys.argv[2]](*sys.argv[3:])
        os.chdir("/")
    print("passed")
    return 0


sys.exit(main())
