SELECT name FROM student
