SELECT name FROM teacher WHERE id NOT IN (SELECT advisor FROM student)
