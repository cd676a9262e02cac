-- Which rank is slow, and with which kernel?
SELECT t.rank, s.name, sum(s.dur_ns) AS total_ns
FROM track t JOIN slice s ON s.track_id = t.id WHERE s.category = 'kernel'
GROUP BY t.rank, s.name ORDER BY s.name, t.rank
