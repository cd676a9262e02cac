-- How long from a launch to its kernel?
SELECT k.name, count(*) AS launches, avg(k.ts_ns - r.ts_ns) AS mean_latency_ns
FROM slice k JOIN track t ON t.id = k.track_id
JOIN slice r ON r.correlation = k.correlation AND r.category = 'cuda_runtime'
JOIN track rt ON rt.id = r.track_id AND rt.rank = t.rank
WHERE k.category = 'kernel' AND t.rank = 0 GROUP BY k.name ORDER BY k.name
