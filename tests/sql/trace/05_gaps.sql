-- Where does a stream stand still for longest?
SELECT part, stream, idle_from_ns, before, ts_ns - idle_from_ns AS gap_ns FROM (
  SELECT t.part, t.stream, s.name AS before, s.ts_ns, max(s.ts_ns + s.dur_ns) OVER (
    PARTITION BY t.id ORDER BY s.ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from_ns
  FROM track t JOIN slice s ON s.track_id = t.id
  WHERE t.kind = 'gpu_stream' AND s.category IS NOT 'gpu_user_annotation')
ORDER BY gap_ns DESC, part, stream LIMIT 3
