-- Which kernels cost most, over all runs?
SELECT kernel, count(*) AS launches, sum(value) AS total_ms
FROM metric WHERE name = 'gpu_ms' AND kernel IS NOT NULL GROUP BY kernel ORDER BY total_ms DESC
