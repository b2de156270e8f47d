SELECT name FROM student WHERE name LIKE '%5' AND name NOT LIKE '_a%'
