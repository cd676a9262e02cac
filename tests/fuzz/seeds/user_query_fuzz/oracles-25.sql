SELECT * FROM run, json_each(run.command)
