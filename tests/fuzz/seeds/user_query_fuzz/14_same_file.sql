-- Which runs left the very same file?
SELECT name, sha256, group_concat(run, ' ') AS runs FROM (SELECT name, sha256, run FROM artifact ORDER BY run)
GROUP BY name, sha256 HAVING count(*) > 1
