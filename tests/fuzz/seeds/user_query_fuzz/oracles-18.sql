SELECT json_group_array(json_extract('{}', value)) FROM label WHERE key = 'path'
