SELECT name FROM teacher WHERE 1000 < salary
