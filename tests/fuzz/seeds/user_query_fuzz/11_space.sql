-- Which runs take the most space?
SELECT run, sum(size_bytes) AS bytes, count(*) AS files FROM artifact GROUP BY run ORDER BY bytes DESC LIMIT 2
