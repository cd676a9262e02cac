-- Which runs took longest, in seconds?
SELECT id, round(duration_ns / 1e9, 3) AS seconds FROM run WHERE duration_ns IS NOT NULL ORDER BY duration_ns DESC LIMIT 3
