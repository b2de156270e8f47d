SELECT name FROM teacher WHERE salary > 1000
