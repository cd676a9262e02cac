-- How much runs on each stream?
SELECT t.rank, t.device, t.stream, count(*) AS slices, sum(s.dur_ns) AS sum_ns
FROM track t JOIN slice s ON s.track_id = t.id WHERE t.kind = 'gpu_stream' AND s.category IS NOT 'gpu_user_annotation'
GROUP BY t.id ORDER BY t.rank, t.stream
