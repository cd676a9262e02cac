-- How busy is each stream?
SELECT t.rank, t.device, t.stream, count(*) AS slices, sum(s.dur_ns) AS busy_ns
FROM track t JOIN slice s ON s.track_id = t.id WHERE t.kind = 'gpu_stream'
GROUP BY t.id ORDER BY t.rank, t.stream
