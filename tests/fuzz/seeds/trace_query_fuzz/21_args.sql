-- What else does an event say?
SELECT name, args FROM slice WHERE category = 'gpu_memcpy' ORDER BY id LIMIT 1
