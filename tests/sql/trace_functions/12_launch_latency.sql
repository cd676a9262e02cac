-- How long from a launch to its kernel, the quick way?
SELECT part, name, count(*) AS launches, avg(delay_ns) AS mean_latency_ns
FROM correlated('category=cuda_runtime', 'category=kernel') GROUP BY part, name ORDER BY part, name
