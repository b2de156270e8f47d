SELECT name FROM student WHERE name LIKE '%5' AND NOT name LIKE "_a%"
