SELECT * FROM device WHERE device = 'SECRET' AND zeroblob(99999999)
