-- What lies within one slice?
SELECT c.depth, c.ts_ns - p.ts_ns AS after_ns, c.dur_ns, c.name
FROM slice p JOIN slice c ON c.parent_id = p.id WHERE p.id = (SELECT min(id) FROM slice WHERE name = 'aten::mm')
