SELECT name FROM student INTERSECT SELECT name FROM teacher
