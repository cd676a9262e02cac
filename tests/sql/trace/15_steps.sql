-- How long do steps take, and how much of it is the GPU's?
SELECT st.name, t.part, st.dur_ns, (SELECT sum(k.dur_ns) FROM slice k JOIN track g ON g.id = k.track_id
  WHERE g.run = t.run AND g.part = t.part AND g.kind = 'gpu_stream' AND k.category IS NOT 'gpu_user_annotation'
  AND k.ts_ns >= st.ts_ns AND k.ts_ns < st.ts_ns + st.dur_ns) AS gpu_ns
FROM slice st JOIN track t ON t.id = st.track_id
WHERE st.name GLOB 'ProfilerStep#*' AND t.kind = 'cpu_thread' ORDER BY t.part, st.ts_ns
