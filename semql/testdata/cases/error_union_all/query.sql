SELECT name FROM student UNION ALL SELECT name FROM teacher
