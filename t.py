import time
t=time.perf_counter()
def lap(n):
    global t
    u=time.perf_counter(); print(f"{n}: {u-t:.3f} cpu {time.process_time():.3f}"); t=u
from kprof.event_candidate import CandidateProcess
lap("import")
p=CandidateProcess("", isolate=False); lap("start echo"); p.echo(b""); lap("ready"); p.end(); lap("end")
p=CandidateProcess("/tmp/w/ev/kernel.py", isolate=True); lap("start iso"); p.load("kernel"); lap("ready"); p.end(); lap("end")
