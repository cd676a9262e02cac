#!/usr/bin/python3
"""A remote client's calls (status, devices, a run, a page of runs) while 10,000 connections are attempted by those who have
no business there: silent ones, plain HTTP/2, TLS 1.2 at most, and TLS without a certificate, with a foreign, an expired,
a revoked one and one that no rule names. Prints how long the calls take before and meanwhile, what the daemon refused, how many lines its log
has of it, and its memory.

Needs the programs in KPROF_BIN (default: build/release/bin), bench_hostile_tls among them, and openssl.
"""

import os
import re
import subprocess
import sys
import tempfile

from bench_support import kprof_testing, print_machine

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from kprof_certificates import Authority  # noqa: E402


def main():
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        lab = Authority(folder, "lab CA")
        node = lab.issue("node", "serverAuth", "IP:127.0.0.1")
        client = lab.issue("ci")
        foreign = Authority(folder, "foreign CA").issue("ci")
        expired = lab.issue("expired", days=-1)
        dismissed = lab.issue("dismissed")
        lab.revoke(dismissed[0])
        stranger = lab.issue("stranger")
        daemon = kprof_testing.Daemon(folder, config=f"""
[listen]
address = "127.0.0.1:0"
certificate = "{node[0]}"
key = "{node[1]}"
client_ca = "{lab.pem}"
revoked = "{lab.revoked}"
[[certificate]]
name = "ci"
role = "operator"
""")
        daemon.start()
        address = kprof_testing.wait_until(
            lambda: re.search(r"listening for remote clients address=(\S+)", daemon.log()), "it listens").group(1)
        run = kprof_testing.Client(daemon.socket).detach("true")
        before_kib = kprof_testing.status_number(daemon.pid, "VmRSS")
        subprocess.run([os.path.join(kprof_testing.BIN, "bench_hostile_tls"), address, run, lab.pem, *client, *foreign,
                        *expired, *dismissed, *stranger], check=True)
        after_kib = kprof_testing.status_number(daemon.pid, "VmRSS")
        lines = [line for line in daemon.log().splitlines() if "refused" in line]
        reasons = set(re.findall(r"reason=(\S+)", " ".join(lines)))
        print(f"kprofd: {before_kib / 1024:.1f} MiB before, {after_kib / 1024:.1f} MiB after; "
              f"{len(lines)} lines of its log about it: {', '.join(sorted(reasons))}")
        daemon.stop()


if __name__ == "__main__":
    main()
