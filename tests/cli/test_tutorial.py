"""The commands of docs/tutorial.md, run in an empty folder one after the other. Arguments: the command, the page."""

import json
import os
import re
import subprocess
import sys
import tempfile

waymark, page = map(os.path.abspath, sys.argv[1:3])
with open(page, encoding="utf-8") as f:
    blocks = re.findall(r"^```sh\n(.*?)^```", f.read(), re.M | re.S)
assert len(blocks) >= 4, "the page has lost its commands"
with tempfile.TemporaryDirectory() as folder:
    tools = os.path.join(folder, "tools")
    os.mkdir(tools)
    os.symlink(waymark, os.path.join(tools, "waymark"))
    env = dict(os.environ, PATH=tools + ":" + os.environ["PATH"])
    for block in blocks:
        subprocess.run(["sh", "-euc", block], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "run", "summary.json"), encoding="utf-8") as f:
        summary = json.load(f)
    assert abs(summary["kl_pq"] - 1) < 0.3, summary["kl_pq"]  # as the page says
    assert summary["verdict"] == "trust", summary["verdict"]
    for name in ("run/report.html", "weights.csv", "weights.csv.json", "log_ratio.npy"):
        assert os.path.getsize(os.path.join(folder, name)), name
    with open(os.path.join(folder, "weights.csv"), encoding="utf-8") as f:
        rows = f.read().split("\n")[1:-1]
    assert len(rows) == 2000
    assert abs(sum(float(r.split(",")[-1]) for r in rows) / 2000 - 1) < 1e-6
