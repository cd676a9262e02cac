-- How did a loop's rounds improve, each against the one before?
SELECT id, value AS gpu_ms, round(100 * (value / lag(value) OVER (ORDER BY id) - 1), 1) AS change_percent
FROM run JOIN metric ON metric.run = run.id
WHERE metric.name = 'gpu_ms' AND metric.kernel IS NULL ORDER BY id
