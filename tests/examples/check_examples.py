"""check_examples.py CMAKE BUILD CC EXAMPLES: every example compiles against the installed library and says what is true."""
import glob
import os
import re
import subprocess
import sys
import tempfile

cmake, build, cc, examples = sys.argv[1:]
WANT = {  # example: (pattern of a number in its output, the truth, tolerance)
    "fit_ratio": (r"KL\(p, q\) = ([0-9.]+) nats", 9.038, 0.1),  # sd of log r over 20,000 rows: 0.01; 5 of them twice
    "make_waymarks": (r"waymark 2: alpha 0.007812, standard deviation ([0-9.e-]+)", 0.0078125, 0.0003),  # 5/sqrt(2n)
    "own_density": (r"log Z = ([0-9.-]+)", 0.452, 0.2),  # standard error of 400 chains of 300 steps: some hundredths
}

with tempfile.TemporaryDirectory() as top:
    prefix = os.path.join(top, "prefix")
    subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    pc = glob.glob(os.path.join(prefix, "lib*", "**", "pkgconfig"), recursive=True)
    env = dict(os.environ, PKG_CONFIG_PATH=":".join(pc))
    env.pop("LD_LIBRARY_PATH", None)  # the flags of waymark.pc are enough
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "waymark"], check=True, env=env,
                           capture_output=True, text=True).stdout.split()
    found = sorted(os.path.splitext(os.path.basename(p))[0] for p in glob.glob(os.path.join(examples, "*.c")))
    assert found == sorted(WANT), f"examples {found}, but this test knows {sorted(WANT)}"
    for name, (pattern, truth, tolerance) in WANT.items():
        program = os.path.join(top, name)
        source = os.path.join(examples, name + ".c")
        subprocess.run([cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", program, *flags,
                        "-lm"], check=True, env=env)
        out = subprocess.run([program], check=True, env=env, cwd=top, capture_output=True, text=True).stdout
        match = re.search(pattern, out)
        assert match, f"{name} said:\n{out}"
        assert abs(float(match.group(1)) - truth) <= tolerance, f"{name}: {match.group(0)}, truth {truth}"
print(f"{len(WANT)} examples agree")
