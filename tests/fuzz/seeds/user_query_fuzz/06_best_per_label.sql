-- What is the best time per branch?
SELECT l.value AS branch, min(m.value) AS best_ms
FROM label l JOIN metric m ON m.run = l.run AND m.name = 'gpu_ms' AND m.kernel IS NULL
WHERE l.key = 'branch' GROUP BY l.value ORDER BY best_ms
