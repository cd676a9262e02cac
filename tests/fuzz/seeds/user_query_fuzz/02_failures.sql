-- What failed, and why?
SELECT id, error_code, error_message, exit_code FROM run WHERE state = 'failed'
