SELECT name FROM teacher WHERE EXISTS (SELECT name FROM student)
