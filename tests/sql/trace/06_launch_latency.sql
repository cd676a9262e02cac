-- How long from a launch to its kernel?
SELECT k.part, k.name, count(*) AS launches, avg(k.ts_ns - r.ts_ns) AS mean_latency_ns
FROM slice k JOIN slice r ON r.correlation = k.correlation
WHERE k.category = 'kernel' AND r.category = 'cuda_runtime' GROUP BY k.part, k.name ORDER BY k.part, k.name
