import re,subprocess,os,tempfile
t=open('/tmp/w/n2/docs/event.md').read()
i=t.index('## kprof.event: the referee'); block=t[i:t.index('    $ kprofctl capture event -- python3 -m kprof.event kernel.py --task task.py\n    $ python3',i)]
lines=[l[4:] if l.startswith('    ') else '' for l in block.splitlines()[1:]]
k='\n'.join(lines); a=k.index('# task.py')
d=tempfile.mkdtemp(); open(d+'/kernel.py','w').write(k[:a]); open(d+'/task.py','w').write(k[a:])
print(subprocess.run(['python3','-m','kprof.event','kernel.py','--task','task.py','--samples','10'],cwd=d,env={**os.environ,'PYTHONPATH':'/tmp/w/n2/client/python'},capture_output=True,text=True))
