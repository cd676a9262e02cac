-- How much of the communication is hidden behind computation?
WITH gpu AS (SELECT t.run, t.part, t.stream, s.ts_ns AS begin_ns, s.ts_ns + s.dur_ns AS end_ns
  FROM track t JOIN slice s ON s.track_id = t.id WHERE t.kind = 'gpu_stream'
  AND s.category IS NOT 'gpu_user_annotation')
SELECT a.part, sum(max(0, min(a.end_ns, b.end_ns) - max(a.begin_ns, b.begin_ns))) AS hidden_ns
FROM gpu a JOIN gpu b ON b.run = a.run AND b.part = a.part AND a.stream = 20 AND b.stream = 7 GROUP BY a.part ORDER BY a.part
