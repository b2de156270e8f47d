SELECT name FROM student WHERE age > (SELECT avg(age) FROM student)
