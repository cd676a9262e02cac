from kprof import event
import sys
K="/tmp/w/n2/tests/programs/hostile_kernels/"
r=event.bench(K+sys.argv[1],task=K+"task.py",samples=40)
for c in r.cases.values():
    print("overhead",c.overhead_ns, r.notes)
    for n in ("before","samples","after"):
        print(n,[(s.best.wall_ns//1000,s.best.claim_ns//1000,s.best.cpu_ns//1000,int(s.mean_cpu_ns)//1000) for s in getattr(c,n)])
