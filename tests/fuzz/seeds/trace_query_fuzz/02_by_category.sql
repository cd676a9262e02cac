-- How much of what is there?
SELECT category, count(*) AS slices, sum(dur_ns) AS total_ns FROM slice GROUP BY category ORDER BY category
