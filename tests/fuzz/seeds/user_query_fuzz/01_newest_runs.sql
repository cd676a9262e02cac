-- What ran last?
SELECT id, tool, state, command FROM run ORDER BY id DESC LIMIT 3
