-- Which arrows lack their other end?
SELECT p.category, p.phase, s.name AS touches, count(*) AS points FROM flow_point p LEFT JOIN slice s ON s.id = p.slice
WHERE p.id NOT IN (SELECT id FROM flow) AND p.id NOT IN (SELECT to_point FROM flow) GROUP BY p.category, p.phase, s.name
