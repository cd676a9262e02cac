-- How long was the GPU busy in each step?
SELECT st.name, t.part, st.dur_ns, b.busy_ns AS gpu_busy_ns FROM slice st JOIN track t ON t.id = st.track_id
JOIN busy('part') b ON b.run = t.run AND b.part = t.part AND b.from_ns = st.ts_ns AND b.to_ns = st.ts_ns + st.dur_ns
WHERE st.name GLOB 'ProfilerStep#*' AND t.kind = 'cpu_thread' AND b.track_kind = 'gpu_stream' ORDER BY t.part, st.ts_ns
