import ctypes, struct, sys
def set_slice(ns):
    libc=ctypes.CDLL(None,use_errno=True)
    a=struct.pack("IIQiIQQQ",48,0,0,0,0,ns,0,0)
    r=libc.syscall(314,0,a,0)
    return r, ctypes.get_errno()
if __name__=="__main__":
    from kprof import event
    import statistics
    K="/tmp/w/n2/tests/programs/hostile_kernels/"
    for mode in ("none","parent","both"):
        if mode!="none":
            from kprof import event_candidate as ec
            o=ec.CandidateProcess.load
            def load(self,f,o=o):
                r=o(self,f); print(set_slice(100_000)); return r
            if mode=="parent": ec.CandidateProcess.load=load
            else: print(set_slice(100_000)); ec.CandidateProcess.load=o
        r=event.bench(K+"honest.py",task=K+"task.py",samples=40,tries=1)
        for c in r.cases.values():
            w=sorted(s.best.wall_ns//1000 for s in c.samples)
            d=sorted((s.best.wall_ns-s.best.claim_ns)//1000 for s in c.samples)
            print(mode,"wall",w[4],w[10],w[20],w[30],w[36],"diff",d[4],d[10],d[20],d[30],d[36], [s.best.claim_ns//1000 for s in c.samples][:12])
