-- And of their own, without what they call?
SELECT o.name, sum(o.dur_ns) - total(c.inner_ns) AS self_ns
FROM slice o LEFT JOIN (SELECT parent_id, sum(dur_ns) AS inner_ns FROM slice GROUP BY parent_id) c ON c.parent_id = o.id
WHERE o.category = 'cpu_op' GROUP BY o.name ORDER BY self_ns DESC
