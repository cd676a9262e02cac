-- Which operators take the most time, by their inputs?
SELECT name, arg(args, 'Input Dims') AS dims, count(*) AS calls, sum(dur_ns) AS total_ns
FROM slice WHERE category = 'cpu_op' GROUP BY name, dims ORDER BY total_ns DESC LIMIT 3
