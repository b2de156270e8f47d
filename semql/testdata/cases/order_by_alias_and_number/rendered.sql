SELECT age, name FROM student ORDER BY age, name
