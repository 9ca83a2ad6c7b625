"""kill_resume.py WAYMARK: kill -9 during training at several points, --resume: the same model files, bit for bit."""
import os
import signal
import subprocess
import sys
import tempfile
import time

WAYMARK = sys.argv[1]
COMMAND = [WAYMARK, "reproduce", "gaussian", "--preset", "smoke", "--checkpoint", "0.05s", "--quiet", "--json"]


def models(folder):
    return {name: open(os.path.join(folder, name), "rb").read()
            for name in sorted(os.listdir(folder))
            if name.endswith(".safetensors") and not name.endswith("-state.safetensors")}


def run(folder, *more):
    return subprocess.Popen(COMMAND + ["-o", folder, *more], stdout=subprocess.DEVNULL)


def main():
    with tempfile.TemporaryDirectory() as top:
        whole = os.path.join(top, "whole")
        start = time.time()
        assert run(whole).wait() == 0, "the uninterrupted run failed"
        took = time.time() - start
        want = models(whole)
        assert len(want) == 8, sorted(want)
        folder = os.path.join(top, "killed")
        kills = 0
        for share in (0.15, 0.3, 0.45):
            p = run(folder, *(["--resume"] if kills else []))
            time.sleep(share * took)
            if p.poll() is None:
                p.send_signal(signal.SIGKILL)
                kills += 1
            p.wait()
        assert kills >= 1, "every run ended before it could be killed"
        assert run(folder, "--resume").wait() == 0, "the resumed run failed"
        got = models(folder)
        assert sorted(got) == sorted(want), (sorted(got), sorted(want))
        for name, content in want.items():
            assert got[name] == content, f"{name} differs after {kills} kills"
        left = [n for n in os.listdir(folder) if "tmp" in n]
        assert not left, f"temporaries are left: {left}"
        print(f"killed {kills} times, {len(want)} models are the same")


main()
