SELECT * FROM run, json_each(run.labels) j WHERE json_extract('{}', j.value)
