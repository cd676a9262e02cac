-- Which kernels take the most time?
SELECT name, count(*) AS launches, sum(dur_ns) AS total_ns, max(dur_ns) AS longest_ns
FROM slice WHERE category = 'kernel' GROUP BY name ORDER BY total_ns DESC
