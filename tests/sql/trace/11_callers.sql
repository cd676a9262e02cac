-- Which operator launched a kernel?
SELECT k.name AS kernel, o.name AS operator, count(*) AS launches
FROM slice k JOIN flow f ON f.to_slice = k.id JOIN slice r ON r.id = f.from_slice JOIN slice o ON o.id = r.parent_id
WHERE k.category = 'kernel' GROUP BY kernel, operator ORDER BY kernel
