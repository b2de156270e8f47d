SELECT name FROM student WHERE (SELECT avg(age) FROM student) <= age
