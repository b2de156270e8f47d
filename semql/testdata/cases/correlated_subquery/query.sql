SELECT name FROM teacher WHERE salary > (SELECT avg(age) FROM student WHERE advisor = teacher.id)
