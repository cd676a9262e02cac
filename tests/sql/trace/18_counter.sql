-- How did memory grow?
SELECT t.name, c.ts_ns, c.value, c.value - lag(c.value) OVER (ORDER BY c.ts_ns) AS more
FROM track t JOIN counter c ON c.track_id = t.id WHERE t.kind = 'counter' AND t.rank = 0 ORDER BY c.ts_ns
