-- Why not the others?
SELECT code, count(*) AS runs, group_concat(run, ' ') AS which FROM (SELECT code, run FROM trust ORDER BY run) GROUP BY code
