-- How long do steps take, and how much of it is the GPU's?
SELECT st.name, t.rank, st.dur_ns, (SELECT sum(k.dur_ns) FROM slice k JOIN track g ON g.id = k.track_id
  WHERE g.rank = t.rank AND g.kind = 'gpu_stream' AND k.category IS NOT 'gpu_user_annotation' AND k.ts_ns >= st.ts_ns AND k.ts_ns < st.ts_ns + st.dur_ns) AS gpu_ns
FROM slice st JOIN track t ON t.id = st.track_id WHERE st.name GLOB 'ProfilerStep#*' ORDER BY t.rank, st.ts_ns
