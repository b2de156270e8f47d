SELECT name FROM student ORDER BY age DESC, name ASC
