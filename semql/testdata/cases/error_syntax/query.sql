SELECT name FROM student WHERE
