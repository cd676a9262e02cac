-- How long did runs wait for a device before they started?
SELECT tool, count(*) AS runs, round(avg(started_ns - queued_ns) / 1e9, 3) AS mean_wait_s
FROM run WHERE started_ns IS NOT NULL GROUP BY tool ORDER BY tool
